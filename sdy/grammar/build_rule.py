"""Builders from syntax trees to sharding rules. `write` is the inverse."""

from __future__ import annotations

from lark import Token

from sdy.grammar._lark import ParseNode
from sdy.grammar.aliases import Aliases, no_aliases
from sdy.grammar.build import error_at, integer
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
