"""Pad a module before reshards are inserted: values get the sizes of a plan.

    before  %1 = stablehlo.slice %0 [1:64] : (tensor<64xf32>) -> tensor<63xf32>       the plan: %1 has 64 elements
    after   %1 = stablehlo.pad %0, %zero, low = [-1], high = [1], interior = [0] : ... -> tensor<64xf32>

If an op cannot run on padded tensors, its operands are trimmed before it, and its results are padded after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import get_args

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.facts.traits import is_elementwise, passes_through, terminator_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import shape
from sdy.dialects.stablehlo.control import ControlFlowOp
from sdy.model.shape import StaticShape
from sdy.partitioner.padding import contraction, control, gather_scatter, reduction, slicing, window
from sdy.partitioner.padding import shape as shape_rules
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder
from sdy.rules.all import RULE_ATTRIBUTE

# Ops that compute padding from padding, beside elementwise ones and those that pass their operands on.
SAME_PADDING = frozenset[type[Operation]](
    (*get_args(ControlFlowOp), shape.BroadcastInDimOp, shape.IotaOp, shape.TransposeOp)
)
RULES = OpTable[None, [Padder]](
    contraction.RULES,
    gather_scatter.RULES,
    reduction.RULES,
    shape_rules.RULES,
    slicing.RULES,
    slicing.MOVING_RULES,
    window.RULES,
)


def pad_as_planned(
    module: ModuleOp, functions: Mapping[str, FuncOp], called: Collection[str], planned: Mapping[SSAValue, StaticShape]
) -> None:
    """Pad the values of functions; those in `called` have padded arguments and results, the others do not.

    `planned` are the sizes with padding.
    """
    padder = Padder(module, planned)
    for name, func in functions.items():
        block = func.body.block
        if name in called:
            padder.resize_to_targets(block.args)
        else:
            for argument in tuple(block.args):
                if padder.facts.needs_padding(argument):
                    padder.pad_uses(argument)
        _pad_block(block, padder, called)
        terminator = terminator_of(func.body)
        if name in called:
            types = [argument.type for argument in block.args], [value.type for value in terminator.operands]
            func.function_type = FunctionType.from_lists(*types)
        else:
            compute_unpadded(terminator, padder)


def _pad_block(block: Block, padder: Padder, called: Collection[str]) -> None:
    for op in tuple(block.ops):
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            continue
        if isinstance(op, ControlFlowOp):
            for inner in _padded_blocks(op, padder):
                _pad_block(inner, padder, called)
        if any(map(padder.facts.is_padded, op.operands)) or any(
            padder.facts.needs_padding(result) for result in op.results
        ):
            _pad_op(op, padder, called)


def _padded_blocks(op: ControlFlowOp, padder: Padder) -> Iterator[Block]:
    """Pad the arguments of the bodies of an op, then yield the bodies."""
    control.ARGUMENT_RULES.get(op, padder)
    for region in op.regions:
        yield from region.blocks


def _pad_op(op: Operation, padder: Padder, called: Collection[str]) -> None:
    is_call = isinstance(op, CallOp) and op.callee.root_reference.data in called
    if type(op) in SAME_PADDING or is_elementwise(op) or passes_through(op) or is_call:
        padder.resize_to_targets(op.results)
    elif type(op) in RULES:
        RULES.get(op, padder)
    else:
        compute_unpadded(op, padder)
    if op.parent is not None:
        op.attributes.pop(RULE_ATTRIBUTE, None)  # the rule is for the sizes without padding
        for result in op.results:
            if padder.facts.needs_padding(result):
                padder.pad_uses(result)
