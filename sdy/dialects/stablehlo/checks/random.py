"""Types of random numbers."""

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
    """`rng_bit_generator`: the next state has the shape of the state."""
    require_same_shape(op, (op.operands[0], op.results[0]))


def check_rng(op: Operation) -> None:
    """`rng`: parameters are single values, the shape has a number per dim of the result."""
    a, b, sizes = op.operands
    result = op.results[0]
    require_same_element_type(op, (a, b, result))
    for parameter in (a, b):
        require_shape(op, parameter, (), "it is one parameter of the distribution")
    if len(shape(op, sizes)) != 1:
        fail(op, "SDY-D011", f"shape should be a list of sizes, it is {sizes.type}")
    require_shape(op, sizes, (len(shape(op, result)),), "the result has as many dims")
