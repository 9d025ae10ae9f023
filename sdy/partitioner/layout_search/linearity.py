"""Through which ops partial values may go: f(a) + f(b) is f(a + b).

An op is linear in some of its operands together (both sides of an addition), or in each alone (the sides of a
product). What it does to values that are added up later it may do to the partial ones.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo import contraction, elementwise, gather_scatter, reduction, shape, slicing, window
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.partitioner.layout_search.node import Mode
from sdy.partitioner.on_shards.combiners import combiners_of

Modes = tuple[Mode, ...]

MODES = OpTable[Modes]()
NONE: Modes = ()


def partial_modes(op: Operation) -> Modes:
    """The sets of operands that may be partial, along the same axes, so that the result is; sums only."""
    if not op.results or element_type_of(op.results[0]) == i1:
        return NONE
    return MODES.get(op) or NONE


@MODES.of(
    elementwise.NegateOp,
    shape.BroadcastInDimOp,
    shape.BroadcastOp,
    shape.ReshapeOp,
    shape.ReverseOp,
    shape.TransposeOp,
    slicing.DynamicSliceOp,
    slicing.SliceOp,
    gather_scatter.GatherOp,
)
def _in_the_first(op: Operation) -> Modes:
    return (tuple(place == 0 for place in range(len(op.operands))),)


@MODES.of(elementwise.DivideOp)
def _in_the_dividend(op: elementwise.DivideOp) -> Modes:
    return NONE if isinstance(element_type_of(op.result), IntegerType) else ((True, False),)


@MODES.of(elementwise.AddOp, elementwise.SubtractOp, slicing.ConcatenateOp)
def _in_all_together(op: Operation) -> Modes:
    return ((True,) * len(op.operands),)


@MODES.of(elementwise.MultiplyOp, contraction.DotGeneralOp, contraction.DotOp, window.ConvolutionOp)
def _in_each(op: Operation) -> Modes:
    return ((True, False), (False, True))


@MODES.of(elementwise.SelectOp)
def _in_the_branches(op: elementwise.SelectOp) -> Modes:
    """In both, or in one where the other is zero."""
    modes: list[Mode] = [(False, True, True)]
    if is_zero(op.on_false):
        modes.append((False, True, False))
    if is_zero(op.on_true):
        modes.append((False, False, True))
    return tuple(modes)


@MODES.of(reduction.ReduceOp)
def _in_the_summands(op: reduction.ReduceOp) -> Modes:
    is_sum = combiners_of(op.body) == (elementwise.AddOp,)
    return ((True, False),) if is_sum and is_zero(op.init_values[0]) else NONE


@MODES.of(slicing.PadOp)
def _padded_with_zero(op: slicing.PadOp) -> Modes:
    return ((True, False),) if is_zero(op.padding_value) else NONE


def is_zero(value: SSAValue) -> bool:
    """Whether a value is made of zeros, be it by broadcasting one. A negative zero is none: it shows in a sum."""
    owner = value.owner
    while isinstance(owner, shape.BroadcastInDimOp):
        owner = owner.operand.owner
    if not isinstance(owner, ConstantOp | shape.ConstantOp):
        return False
    literal = owner.value
    return isinstance(literal, DenseElementsAttr) and not any(literal.data.raw)
