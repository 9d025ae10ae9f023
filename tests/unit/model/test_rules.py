"""The builder of sharding rules, and predicates on rules."""

from __future__ import annotations

from support.model.notation import rule

from sdy.model.rule import (
    FactorIndex,
    FactorKind,
    factor_symbol,
    has_factor,
    has_multi_factor_dims,
    is_batching,
    is_in_all_non_scalars,
    is_minor_most,
    non_scalar_tensors,
    parse_factor_symbols,
)
from sdy.model.rule_builder import RuleBuilder, identity_rule

FIRST, J, K = FactorIndex(0), FactorIndex(1), FactorIndex(2)


def test_a_product() -> None:
    built = (
        RuleBuilder((2, 2), (2,))
        .factor(2, (0, None), (0,))
        .factor(4, (None, 1), (1,))
        .factor(8, (1, 0), (None,), FactorKind.REDUCTION)
        .build()
    )
    assert built == rule("<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} reduction={k}>")


def test_dims_without_factor_get_factors_of_size_1_operands_first() -> None:
    built = RuleBuilder((2,), (2,)).factor(4, (0,), (1,)).build(is_custom=True)
    assert built == rule("<([i, j])->([k, i]) {i=4, j=1, k=1}, custom>")


def test_a_factor_of_size_1_is_not_added_to_dims_with_factors() -> None:
    built = RuleBuilder((1,), (2,)).factor(4, (0,), (0,)).factor(1, (0,), (1,)).build()
    assert built == rule("<([i])->([i, j]) {i=4, j=1}>")


def test_spread_skips_scalars() -> None:
    built = RuleBuilder((1, 0), (1,)).spread(0, 8, FactorKind.PERMUTATION, is_blocked=True).build()
    assert built == rule("<([i], [])->([i]) {i=8} permutation={i} blocked_propagation={i}>")
    one_sided = RuleBuilder((1,), (1,)).spread(0, 8, in_results=False).spread(0, 4, in_operands=False).build()
    assert one_sided == rule("<([i])->([j]) {i=8, j=4}>")


def test_pointwise_where_sizes_are_equal() -> None:
    built = (
        RuleBuilder((2,), (2,)).pointwise_where_equal((8, 4), (8, 2), FactorKind.NEED_REPLICATION, is_blocked=True)
    ).build()
    assert built == rule("<([i, j])->([i, j]) {i=8, j=4} need_replication={j} blocked_propagation={j}>")


def test_identity_rule() -> None:
    assert identity_rule((7, 5), operands=2) == rule("<([i, j], [i, j])->([i, j]) {i=7, j=5}>")
    assert identity_rule(()) == rule("<([])->([])>")


def test_rule_predicates() -> None:
    product = rule("<([i, k], [k, j], [])->([i, j]) {i=2, j=4, k=8} reduction={k}>")
    assert has_factor(product.operands[0], K)
    assert not has_factor(product.operands[0], J)
    assert non_scalar_tensors(product) == (0, 1, 3)
    assert not is_in_all_non_scalars(product, FIRST)
    assert not has_multi_factor_dims(product)
    batched = rule("<([i, jk], [i, j])->([i, k]) {i=2, j=4, k=8} reduction={j}>")
    assert is_batching(batched, FIRST)
    assert not is_batching(batched, K)
    assert has_multi_factor_dims(batched)
    assert is_minor_most(batched.operands[0][1], K)
    assert not is_minor_most(batched.operands[0][1], J)
    assert not is_minor_most((), J)


def test_a_reduction_factor_is_not_a_batching_factor() -> None:
    everywhere = rule("<([i], [i])->([]) {i=2} reduction={i}>")
    assert is_in_all_non_scalars(everywhere, FIRST)
    assert not is_batching(everywhere, FIRST)


def test_factor_symbols_after_z_are_numbered() -> None:
    assert [factor_symbol(factor) for factor in (0, 17, 18, 19, 27)] == ["i", "z", "z_1", "z_2", "z_10"]


def test_parse_factor_symbols_splits_greedily() -> None:
    assert parse_factor_symbols("z_8z_9z_10") == (25, 26, 27)
    assert parse_factor_symbols("z_2i") == (19, 0)
    assert parse_factor_symbols("zz_1") == (17, 18)
    for word in ("i_1", "z_", "z_0", "a", "z_2_i", "I", "z_9223372036854775808", "i."):
        assert parse_factor_symbols(word) is None, word
    assert parse_factor_symbols("z_9223372036854775807") == (2**63 + 16,)
