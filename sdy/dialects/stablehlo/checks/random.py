"""Types of random numbers."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.stablehlo.checks.demands import demand_same_element, demand_same_shape, demand_shape, fail, shape


def keeps_state(op: Operation) -> None:
    """`rng_bit_generator`: the next state has the shape of the state."""
    demand_same_shape(op, (op.operands[0], op.results[0]))


def draws(op: Operation) -> None:
    """`rng`: parameters are single values, the shape has a number per dim of the result."""
    a, b, sizes = op.operands
    result = op.results[0]
    demand_same_element(op, (a, b, result))
    for parameter in (a, b):
        demand_shape(op, parameter, (), "it is one parameter of the distribution")
    if len(shape(op, sizes)) != 1:
        fail(op, "SDY-D011", f"shape should be a list of sizes, it is {sizes.type}")
    demand_shape(op, sizes, (len(shape(op, result)),), "the result has as many dims")
