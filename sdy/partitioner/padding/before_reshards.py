"""Padding of a module whose reshards are still to come: values get the dims that a plan has for them.

    before  %1 = stablehlo.slice %0 [1:64] : (tensor<64xf32>) -> tensor<63xf32>       the plan: %1 has 64 elements
    after   %1 = stablehlo.pad %0, %zero, low = [-1], high = [1], interior = [0] : ... -> tensor<64xf32>

Where an op has no form on padded tensors, its operands are trimmed before it, and its results padded behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp
from sdy.dialects.stablehlo import elementwise, shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.control import CaseOp, IfOp, OptimizationBarrierOp, WhileOp
from sdy.partitioner.padding import contraction, reduction, regions, slicing
from sdy.partitioner.padding import data_movement as moving
from sdy.partitioner.padding import shape as shape_rules
from sdy.partitioner.padding.padder import Padder, Rule, Sizes, is_static
from sdy.rules.all import RULE_ATTRIBUTE

CONTROL = (WhileOp, CaseOp, IfOp)
CARRYING = frozenset[type[Operation]](
    (
        *elementwise.OPS,
        *CONTROL,
        shape.BroadcastInDimOp,
        shape.IotaOp,
        shape.TransposeOp,
        OptimizationBarrierOp,
        PropagationBarrierOp,
        ReshardOp,
    )
)
RULES = OpTable[Rule](contraction.RULES, moving.RULES, reduction.RULES, shape_rules.RULES, slicing.RULES)


def pad_as_planned(
    module: ModuleOp, functions: Mapping[str, FuncOp], called: Collection[str], planned: Mapping[SSAValue, Sizes]
) -> None:
    """Pad the values of some functions; those that are `called` take and give padded values, the others do not."""
    padder = Padder(module, planned)
    for name, func in functions.items():
        block = func.body.block
        if name in called:
            padder.make_even(block.args)
        else:
            for argument in tuple(block.args):
                if _is_uneven(argument, padder):
                    padder.pad_behind(argument)
        _pad_block(block, padder, called)
        terminator = block.last_op
        assert terminator is not None  # verified
        if name in called:
            types = [argument.type for argument in block.args], [value.type for value in terminator.operands]
            func.function_type = FunctionType.from_lists(*types)
        else:
            padder.compute_whole(terminator)


def _pad_block(block: Block, padder: Padder, called: Collection[str]) -> None:
    for op in tuple(block.ops):
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            continue
        if isinstance(op, CONTROL):
            for inner in _entered(op, padder):
                _pad_block(inner, padder, called)
        if any(map(padder.is_padded, op.operands)) or any(_is_uneven(result, padder) for result in op.results):
            _pad_op(op, padder, called)


def _entered(op: WhileOp | CaseOp | IfOp, padder: Padder) -> Iterator[Block]:
    entering = regions.ENTERING.get(op)
    if entering is not None:
        entering(padder)
    for region in op.regions:
        yield from region.blocks


def _pad_op(op: Operation, padder: Padder, called: Collection[str]) -> None:
    rule = RULES.get(op)
    if type(op) in CARRYING or (isinstance(op, CallOp) and op.callee.root_reference.data in called):
        padder.make_even(op.results)
    elif rule is None:
        padder.compute_whole(op)
    else:
        rule(padder)
    if op.parent is not None:
        op.attributes.pop(RULE_ATTRIBUTE, None)  # has the sizes that dims had before
        for result in op.results:
            if _is_uneven(result, padder):
                padder.pad_behind(result)


def _is_uneven(value: SSAValue, padder: Padder) -> bool:
    return is_static(value) and padder.wanted(value) != shape_of(value)
