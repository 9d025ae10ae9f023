"""Sets of ops that the walk over a program treats alike, by name."""

from __future__ import annotations

PARTIALLY_KNOWN = frozenset({"func.call", "stablehlo.optimization_barrier"}) | {
    f"stablehlo.{name}" for name in ("while", "case", "if")
}
UNCHANGED = frozenset(
    f"sdy.{name}" for name in ("sharding_constraint", "reshard", "propagation_barrier", "data_flow_edge")
)
# Ops that have no meaning in a program that does not run on devices.
ON_DEVICES = frozenset(
    (
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.collective_broadcast",
        "stablehlo.collective_permute",
        "stablehlo.partition_id",
        "stablehlo.reduce_scatter",
    )
)
BRANCHES = frozenset({"stablehlo.case", "stablehlo.if"})
# Their operands may have any relation.
PASSING = PARTIALLY_KNOWN | UNCHANGED | {"sdy.sharding_group"}
OF_BOOLEANS = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
KINDS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or"})
