"""The rules of padding of all ops, and the order in which they are applied."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block
from xdsl.traits import IsTerminator

from sdy.dialects.op_table import OpTable
from sdy.dialects.symbols import functions_of
from sdy.partitioner.padding import collectives, contraction, reduction, regions, shape, slicing
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule](
    collectives.RULES, contraction.RULES, reduction.RULES, shape.RULES, slicing.RULES, slicing.STATIC_RULES
)


def pad_module(module: ModuleOp, *, pads_arguments: bool = False) -> None:
    """Pad every value in the functions of the module.

    The boundaries of functions must divide, unless `pads_arguments`: then callers pad arguments with zeros, and take
    results with padding; the types of the functions are left to the caller.
    Raises: SdyError SDY-L014 where the result of an op would depend on the padding.
    """
    padder = Padder(module)
    for func in functions_of(module).values():
        for block in func.body.blocks:
            if pads_arguments:
                padder.make_even(block.args, is_zero=True)
            _pad_block(block, padder)


def _pad_block(block: Block, padder: Padder) -> None:
    """Pad the values of a block in program order, so that operands are padded before the ops that take them."""
    for op in tuple(block.ops):
        entering = regions.ENTERING.get(op)
        if entering is not None:
            entering(padder)
        for region in op.regions:
            for inner in region.blocks:
                _pad_block(inner, padder)
        rule = RULES.get(op)
        if rule is not None:
            rule(padder)
        elif not isinstance(op, CallOp | FuncOp) and not op.has_trait(IsTerminator, value_if_unregistered=False):
            padder.make_even(op.results)
