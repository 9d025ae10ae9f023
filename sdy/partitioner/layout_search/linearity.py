"""Determine which ops are linear in which operands, so that partial values can pass: f(a) + f(b) = f(a + b).

An op is linear in some of its operands together (both sides of an addition), or in each alone (the sides of a
product). What it does to values that are added up later it may do to the partial ones. Looked-up values are added up
before they are multiplied: devices that do not hold an element hold zero, which times infinity is NaN.
"""

from __future__ import annotations

import cmath

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.dialects.facts.traits import Linearity, combiners_of, linearity, passes_through
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo import control, elementwise, gather_scatter, reduction, slicing
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.partitioner.layout_search.node import PartialOperands
from sdy.partitioner.on_shards.combiners import constant_scalar

PartialSets = tuple[PartialOperands, ...]

PASSING_ON = Block | CallOp | control.ControlFlowOp
MOST_STEPS = 16  # from a value back to the op that computes it

# Ops that are linear under conditions. Others are by their traits.
PARTIAL_SETS = OpTable[PartialSets]()
NONE: PartialSets = ()


def partial_operand_sets(op: Operation) -> PartialSets:
    """Return the sets of operands that may be partial sums along the same axes, so that the result is one."""
    if not op.results or element_type_of(op.results[0]) == i1:
        return NONE
    match linearity(type(op)):
        case Linearity.FIRST:
            return (tuple(index == 0 for index in range(len(op.operands))),)
        case Linearity.ALL:
            return ((True,) * len(op.operands),)
        case Linearity.EACH:
            return _linear_in_each(op)
        case None:
            return PARTIAL_SETS.get(op) or NONE


@PARTIAL_SETS.of(elementwise.DivideOp)
def _linear_in_dividend(op: elementwise.DivideOp) -> PartialSets:
    is_exact = isinstance(element_type_of(op.result), IntegerType)
    return NONE if is_exact or (_is_looked_up(op.lhs) and not _is_finite(op.rhs)) else ((True, False),)


def _linear_in_each(op: Operation) -> PartialSets:
    left, right = op.operands
    partial_sets: list[PartialOperands] = []
    if _is_finite(right) or not _is_looked_up(left):
        partial_sets.append((True, False))
    if _is_finite(left) or not _is_looked_up(right):
        partial_sets.append((False, True))
    return tuple(partial_sets)


def _is_looked_up(value: SSAValue) -> bool:
    """Return whether a device may hold zeros where another device holds elements.

    That is so for looked-up elements, and for values that loops, branches and calls pass on, which one device may hold.
    Zero times infinity, and zero by zero, are NaN.
    """
    for _ in range(MOST_STEPS):
        owner = value.owner
        if isinstance(owner, gather_scatter.GatherOp | PASSING_ON):
            return True
        is_sum = isinstance(owner, AllReduceOp | elementwise.ConvertOp)  # contributions, in another type
        if not (is_sum or passes_through(owner) or linearity(type(owner)) is Linearity.FIRST):
            return False
        value = owner.operands[0]
    return False


def _is_finite(value: SSAValue) -> bool:
    """Return whether a value is a finite constant other than zero, or a broadcast of one."""
    number = constant_scalar(value)
    return number is not None and number != 0 and cmath.isfinite(number)


@PARTIAL_SETS.of(elementwise.SelectOp)
def _linear_in_branches(op: elementwise.SelectOp) -> PartialSets:
    """Return both branches together, and each alone if the other is zero."""
    partial_sets: list[PartialOperands] = [(False, True, True)]
    if is_zero(op.on_false):
        partial_sets.append((False, True, False))
    if is_zero(op.on_true):
        partial_sets.append((False, False, True))
    return tuple(partial_sets)


@PARTIAL_SETS.of(reduction.ReduceOp)
def _linear_in_inputs(op: reduction.ReduceOp) -> PartialSets:
    is_sum = combiners_of(op.body.block) == (elementwise.AddOp,)
    return ((True, False),) if is_sum and is_zero(op.init_values[0]) else NONE


@PARTIAL_SETS.of(slicing.PadOp)
def _linear_if_zero_padded(op: slicing.PadOp) -> PartialSets:
    return ((True, False),) if is_zero(op.padding_value) else NONE


def is_zero(value: SSAValue) -> bool:
    """Return whether a value is a constant of positive zeros, or a broadcast of one: -0.0 would change sums."""
    literal = splat_of(value)
    return literal is not None and not any(literal.data.raw)
