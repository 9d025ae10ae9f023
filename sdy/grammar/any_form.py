"""The reader of texts in any form that the grammar allows. Importing it imports Lark."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from sdy.grammar import build
from sdy.grammar._lark import ParseNode, parse_tree
from sdy.grammar.build import error_at, integer
from sdy.grammar.common_forms import Aliases, no_aliases
from sdy.grammar.errors import NotationError
from sdy.model.rule import DimMapping, FactorIndex, OpShardingRule, TensorMapping, factor_symbol, parse_factor_symbols


def op_sharding_rule(node: ParseNode, _: Aliases = no_aliases) -> OpShardingRule:
    """Build `op_sharding_rule`."""
    operands, results = (tuple(tensor_mapping(child) for child in node.node(index).nodes()) for index in (0, 1))
    sizes = _factor_sizes(node.node(2)) if node.has(2) else ()
    sets = node.node(3)
    reduction, need_replication, permutation, blocked = (
        _factor_set(sets.node(index)) if sets.has(index) else () for index in range(4)
    )
    return OpShardingRule(
        sizes, operands, results, reduction, need_replication, permutation, blocked, is_custom=node.has(4)
    )


def tensor_mapping(node: ParseNode, _: Aliases = no_aliases) -> TensorMapping:
    """Build `tensor_mapping`. The text may have a dim without factors; verification rejects it."""
    if node.tokens():
        return (_factors(node.token(0)),)
    return tuple(_factors(dim.token(0)) if dim.tokens() else () for dim in node.nodes())


def _factor_sizes(node: ParseNode) -> tuple[int, ...]:
    sizes: list[int] = []
    for child in node.nodes():
        symbols = child.token(0)
        if _factors(symbols) != (len(sizes),):
            expected = factor_symbol(len(sizes))
            raise error_at(symbols, "SDY-P107", f"expected the size of factor `{expected}`, got `{symbols}`")
        sizes.append(integer(child.node(1)))
    return tuple(sizes)


def _factor_set(node: ParseNode) -> tuple[FactorIndex, ...]:
    # If an entry has several symbols, only the first one counts, as in Shardy.
    return tuple(_factors(symbols)[0] for symbols in node.tokens())


def _factors(symbols: Token) -> DimMapping:
    factors = parse_factor_symbols(symbols)
    if factors is None:
        raise _not_factors(symbols)
    return tuple(FactorIndex(factor) for factor in factors)


def _not_factors(symbols: Token) -> NotationError:
    hint = "write factors as `i` to `z`, then `z_1`, `z_2` and so on"
    return error_at(symbols, "SDY-P106", f"expected factor symbols, got `{symbols}`", hint)


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
        op_sharding_rule,
        tensor_mapping,
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
