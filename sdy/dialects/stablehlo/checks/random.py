"""Checks of random number generators."""

from __future__ import annotations

from xdsl.ir import Operation

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
    """Check that `a` and `b` are scalars, and that `shape` has one element per dim of the result."""
    a, b, sizes = op.operands
    result = op.results[0]
    require_same_element_type(op, (a, b, result))
    for parameter in (a, b):
        require_shape(op, parameter, (), "a parameter of the distribution")
    if len(shape(op, sizes)) != 1:
        fail(op, "SDY-D011", f"shape must be a tensor of rank 1, got {sizes.type}")
    require_shape(op, sizes, (len(shape(op, result)),), "one size per dim of the result")
