"""The rules of padding of all ops, and the order in which they are applied."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.model.rule import FactorKind
from sdy.partitioner.on_shards.shard_rules import known_rule
from sdy.partitioner.padding import collectives, contraction, reduction, regions, shape, slicing
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule](
    collectives.RULES, contraction.RULES, reduction.RULES, shape.RULES, slicing.RULES, slicing.STATIC_RULES
)


def pad_module(module: ModuleOp, *, pads_arguments: bool = False) -> Padder:
    """Pad every value in the functions of the module; what is known of the padding then.

    The boundaries of functions must divide, unless `pads_arguments`: then callers pad arguments with zeros, and take
    results with padding; the types of the functions are left to the caller.
    Raises: SdyError SDY-L014 where a dim would need one padding at the border of a manual computation, and another
    one inside, or where it becomes partial.
    """
    padder = Padder(module)
    for func in functions_of(module).values():
        for block in func.body.blocks:
            if pads_arguments:
                padder.make_even(block.args, is_zero=True)
            _pad_block(block, padder)
    return padder


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
        elif isinstance(op, StablehloOp) and not _is_padded_alike(op, padder):
            padder.compute_whole(op)
        elif not isinstance(op, CallOp | FuncOp) and not op.has_trait(IsTerminator, value_if_unregistered=False):
            padder.make_even(op.results)


def _is_padded_alike(op: Operation, padder: Padder) -> bool:
    """Whether padded dims of an op without a rule of padding are as large in all tensors that have them."""
    rule = known_rule(op)
    if rule is None:
        return True
    dims = [
        (size, true_size, factors)
        for value, mapping in zip((*op.operands, *op.results), rule.tensors, strict=True)
        for size, true_size, factors in zip(
            padder.wanted(value) if value.owner is op else shape_of(value),
            padder.true_sizes(value),
            mapping,
            strict=True,
        )
    ]
    return all(
        len(factors) == 1
        and rule.kind(factors[0]) is FactorKind.PASS_THROUGH
        # The rule goes by the sizes with padding: one element, repeated, may look like one of several.
        and all((other, true_other) == (size, true_size) for other, true_other, shared in dims if factors[0] in shared)
        for size, true_size, factors in dims
        if size != true_size
    )
