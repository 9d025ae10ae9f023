"""Trees of the grammar to sharding rules. `write` is the inverse."""

from __future__ import annotations

from lark import Token

from sdy.grammar._lark import ParseNode
from sdy.grammar.build import Aliases, error_at, integer, no_aliases
from sdy.grammar.errors import NotationError
from sdy.model.rule import DimMapping, FactorIndex, OpShardingRule, TensorMapping, factor_symbol, parse_factor_symbols


def op_sharding_rule(node: ParseNode, _: Aliases = no_aliases) -> OpShardingRule:
    """`op_sharding_rule`"""
    operands, results = (tuple(tensor_mapping(child) for child in node.node(place).nodes()) for place in (0, 1))
    sizes = _factor_sizes(node.node(2)) if node.has(2) else ()
    sets = node.node(3)
    reduction, need_replication, permutation, blocked = (
        _factor_set(sets.node(place)) if sets.has(place) else () for place in range(4)
    )
    return OpShardingRule(
        sizes, operands, results, reduction, need_replication, permutation, blocked, is_custom=node.has(4)
    )


def tensor_mapping(node: ParseNode, _: Aliases = no_aliases) -> TensorMapping:
    """`tensor_mapping`. A dim may be without factors in the text; verification rejects it."""
    if node.tokens():
        return (_factors(node.token(0)),)
    return tuple(_factors(dim.token(0)) if dim.tokens() else () for dim in node.nodes())


def _factor_sizes(node: ParseNode) -> tuple[int, ...]:
    sizes: list[int] = []
    for child in node.nodes():
        word = child.token(0)
        if _factors(word) != (len(sizes),):
            expected = factor_symbol(len(sizes))
            raise error_at(word, "SDY-P107", f"the factor size of `{word}` where that of `{expected}` is due")
        sizes.append(integer(child.node(1)))
    return tuple(sizes)


def _factor_set(node: ParseNode) -> tuple[FactorIndex, ...]:
    # Of a word that holds several symbols the first one counts, as in Shardy.
    return tuple(_factors(word)[0] for word in node.tokens())


def _factors(word: Token) -> DimMapping:
    factors = parse_factor_symbols(word)
    if factors is None:
        raise _not_factors(word)
    return tuple(FactorIndex(factor) for factor in factors)


def _not_factors(word: Token) -> NotationError:
    hint = "factors are called `i` to `z`, then `z_1`, `z_2` and so on"
    return error_at(word, "SDY-P106", f"`{word}` is not made of factor symbols", hint)
