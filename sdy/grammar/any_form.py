"""The reader of texts in any form that the grammar allows. Importing it imports Lark."""

from __future__ import annotations

from collections.abc import Callable

from sdy.grammar import build, build_rule
from sdy.grammar._lark import ParseNode, parse_tree
from sdy.grammar.aliases import Aliases

BUILDERS: dict[str, Callable[[ParseNode, Aliases], object]] = {
    builder.__name__: builder
    for builder in (
        build.mesh,
        build.mesh_axis,
        build.axis_ref,
        build.sub_axis,
        build.axis_list,
        build.axes_per_dim,
        build.manual_axes,
        build.dim_sharding,
        build.tensor_sharding,
        build.sharding_list,
        build.sharding_per_value,
        build_rule.op_sharding_rule,
        build_rule.tensor_mapping,
        build.all_to_all_param,
        build.all_to_all_params,
        build.propagation_edges,
        build.propagation_step,
        build.axis_flow,
    )
}


def read(rule: str, text: str, aliases: Aliases) -> object:
    """Return the value of a text that matches a grammar rule. Raises: NotationError if it does not."""
    return BUILDERS[rule](parse_tree(rule, text), aliases)
