"""An audit finds wrong rules: factors of another kind, and dims that are tied to wrong dims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sdy.dialects.module_text import parse_module
from sdy.evidence.audit.audit_rule import audit_rule
from sdy.evidence.audit.catalogue.all import programs
from sdy.evidence.audit.summary import audited_op
from sdy.model.rule import FactorKind, OpShardingRule, has_factor
from sdy.rules.all import sharding_rule

# Ops of which no slice of a result may be computed from one slice of the operands, along a dim of that kind.
NEEDS_ALL = ("stablehlo.sort", "stablehlo.cholesky", "stablehlo.fft")
MOVES_ALL = ("stablehlo.reverse",)


def passing_instead(rule: OpShardingRule, kind: FactorKind) -> Iterator[OpShardingRule]:
    """Yield the rule with one factor of the kind passing through instead."""
    factors = rule.reduction if kind is FactorKind.REDUCTION else (*rule.need_replication, *rule.permutation)
    for factor in factors:
        tensors = sum(has_factor(mapping, factor) for mapping in rule.tensors)
        if rule.factor_sizes[factor] > 1 and tensors > 1:
            sets = (rule.reduction, rule.need_replication, rule.permutation)
            kept = [tuple(each for each in found if each != factor) for found in sets]
            yield replace(rule, reduction=kept[0], need_replication=kept[1], permutation=kept[2], blocked=())


def swapped_results(rule: OpShardingRule) -> Iterator[OpShardingRule]:
    """Yield the rule with two neighbouring dims of the first result exchanged, if they have the same sizes."""
    mapping = rule.results[0]
    for dim in range(len(mapping) - 1):
        sizes = [[rule.factor_sizes[factor] for factor in mapping[each]] for each in (dim, dim + 1)]
        if sizes[0] == sizes[1] != [1]:
            swapped = (*mapping[:dim], mapping[dim + 1], mapping[dim], *mapping[dim + 2 :])
            yield replace(rule, results=(swapped, *rule.results[1:]))


def wrong_rules() -> Iterator[tuple[str, OpShardingRule, str]]:
    for text in programs():
        op = audited_op(parse_module(text))
        rule = sharding_rule(op)
        if rule is None:
            continue
        if op.name in ("stablehlo.dot_general", "stablehlo.scatter"):
            yield from ((text, wrong, "a reduction") for wrong in passing_instead(rule, FactorKind.REDUCTION))
        if op.name in (*NEEDS_ALL, *MOVES_ALL):
            yield from ((text, wrong, op.name) for wrong in passing_instead(rule, FactorKind.NEED_REPLICATION))
        if op.name in ("stablehlo.transpose", "stablehlo.dot_general"):
            yield from ((text, wrong, "exchanged dims") for wrong in swapped_results(rule))


def test_wrong_rules_are_not_sound() -> None:
    found = Counter[str]()
    for text, wrong, what in wrong_rules():
        op = audited_op(parse_module(text))
        assert not audit_rule(op, wrong).is_sound, (text, wrong)
        found[what] += 1
    assert set(found) == {"a reduction", "exchanged dims", *NEEDS_ALL, *MOVES_ALL}
    assert sum(found.values()) >= 50, found


@pytest.mark.parametrize("body", ["add", "maximum"])
def test_a_scatter_of_a_body_that_cannot_be_divided_is_not_a_reduction(body: str) -> None:
    text = next(each for each in programs() if '"stablehlo.scatter"' in each and f"stablehlo.{body} %x" in each)
    op = audited_op(parse_module(text))
    rule = sharding_rule(op)
    assert rule is not None
    assert rule.reduction
    assert audit_rule(op, rule).is_sound
    other = audited_op(parse_module(text.replace(f"stablehlo.{body} %x", "stablehlo.power %x")))
    assert not audit_rule(other, rule).is_sound
