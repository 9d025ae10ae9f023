"""Checks of random number generators."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from sdy.dialects.stablehlo.attributes.enums import RngDistribution, RngDistributionAttr
from sdy.dialects.stablehlo.checks.element_kinds import check_float_operand, check_real_operand
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    require_same_element_type,
    require_same_shape,
    require_shape,
    shape,
)


def check_rng_bit_generator(op: Operation) -> None:
    """Check that the output state has the shape of the initial state."""
    require_same_shape(op, (op.operands[0], op.results[0]))


def check_rng(op: Operation) -> None:
    """Check that `a` and `b` are real scalars, and that `shape` has one element per dim of the result.

    The parameters of a normal distribution are floats.
    """
    a, b, sizes = op.operands
    result = op.results[0]
    require_same_element_type(op, (a, b, result))
    is_normal = cast(RngDistributionAttr, op.properties["rng_distribution"]).data is RngDistribution.NORMAL
    (check_float_operand if is_normal else check_real_operand)(op)
    for parameter in (a, b):
        require_shape(op, parameter, (), "a parameter of the distribution")
    if len(shape(op, sizes)) != 1:
        fail(op, "SDY-D011", f"shape must be a tensor of rank 1, got {sizes.type}")
    require_shape(op, sizes, (len(shape(op, result)),), "one size per dim of the result")
