"""Short names for the parsers of model values."""

from __future__ import annotations

from sdy.grammar.parse import (
    ALL_TO_ALL_PARAMS,
    AXES_PER_DIM,
    AXIS_LIST,
    PROPAGATION_EDGES,
    parse_axis_ref,
    parse_mesh,
    parse_rule,
    parse_sharding,
)
from sdy.model.sharding import TensorSharding

ref = parse_axis_ref
refs = AXIS_LIST.parse
axes_per_dim = AXES_PER_DIM.parse
params = ALL_TO_ALL_PARAMS.parse
edges = PROPAGATION_EDGES.parse
mesh = parse_mesh
rule = parse_rule


def sharding(text: str) -> TensorSharding:
    """Parse a sharding on mesh @m; `text` is what follows the mesh: `[{"x"}], replicated={"y"}`."""
    return parse_sharding(f"<@m, {text}>")
