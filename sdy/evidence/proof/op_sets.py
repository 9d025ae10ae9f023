"""Sets of ops that the walk over a program treats alike, by name."""

from __future__ import annotations

from sdy.dialects.stablehlo import collectives

PARTIALLY_KNOWN = frozenset({"func.call", "stablehlo.optimization_barrier"}) | {
    f"stablehlo.{name}" for name in ("while", "case", "if")
}
UNCHANGED = frozenset(
    f"sdy.{name}" for name in ("sharding_constraint", "reshard", "propagation_barrier", "data_flow_edge")
)
# Ops that have no meaning in a program that does not run on devices.
ON_DEVICES = frozenset(op.name for op in collectives.OPS)
OF_BOOLEANS = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
KINDS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or"})
