"""Checks of sharding rules against an op."""

from __future__ import annotations

import pytest
from support.model.notation import rule

from sdy.model.checks.check_rule import check_rule
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.shape import Shapeless, ValueShape

PRODUCT = "<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} "


def code(text: str, operands: tuple[ValueShape, ...], results: tuple[ValueShape, ...]) -> str | None:
    problem = check_rule(rule(text), operands, results)
    return None if problem is None else problem.code


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ("reduction={k}>", None),
        ("need_replication={k} blocked_propagation={i, k}, custom>", None),
        ("reduction={k, i}>", "SDY-R010"),
        ("permutation={i, i}>", "SDY-R010"),
        ("need_replication={l}>", "SDY-R010"),
        ("reduction={k} permutation={k}>", "SDY-R011"),
        ("blocked_propagation={j, i}>", "SDY-R010"),
        ("reduction={i}>", "SDY-R013"),
    ],
)
def test_rules_of_factor_sets(sets: str, expected: str | None) -> None:
    assert code(PRODUCT + sets, ((2, 8), (8, 4)), ((2, 4),)) == expected


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ("need_replication={k, l}>", "need_replication factor l is out of range: the rule has 3 factors"),
        ("permutation={i, i}>", "permutation factor i is listed twice"),
        ("reduction={k, i}>", "expected reduction factors in ascending order, got i after k"),
    ],
)
def test_the_factor_of_an_invalid_set_is_named(sets: str, message: str) -> None:
    problem = check_rule(rule(PRODUCT + sets), ((2, 8), (8, 4)), ((2, 4),))
    assert problem is not None
    assert problem.message == message


@pytest.mark.parametrize(
    ("text", "operands", "results", "expected"),
    [
        ("<([i])->([i]) {i=8}>", ((8,), (8,)), ((8,),), "SDY-R001"),
        ("<([i])->([i]) {i=8}>", ((8,),), ((8,), (8,)), "SDY-R001"),
        ("<([i])->([i]) {i=8}>", ((None,),), ((8,),), "SDY-R003"),
        ("<([i])->([i]) {i=8}>", (Shapeless.NOT_SHAPED,), ((8,),), "SDY-R003"),
        ("<([i])->([i]) {i=8}>", ((8, 8),), ((8,),), "SDY-R004"),
        ("<([i,])->([i, j]) {i=8, j=8}>", ((8, 8),), ((8, 8),), "SDY-R005"),
        ("<([i, k])->([i, j]) {i=8, j=8}>", ((8, 8),), ((8, 8),), "SDY-R006"),
        ("<([i, i])->([i, j]) {i=8, j=8}>", ((8, 8),), ((8, 8),), "SDY-R007"),
        ("<([ij])->([i, j]) {i=8, j=1}>", ((8,),), ((8, 1),), "SDY-R008"),
        ("<([i])->([i]) {i=8, j=4}>", ((8,),), ((8,),), "SDY-R009"),
        ("<([])->([])>", ((),), ((),), None),
        ("<([ij])->([i, j]) {i=2, j=4}>", ((8,),), ((2, 4),), None),
        ("<([i])->([i]) {i=-3}>", ((8,),), ((8,),), None),  # sizes are not compared with dims
    ],
)
def test_rules_of_mappings(
    text: str, operands: tuple[ValueShape, ...], results: tuple[ValueShape, ...], expected: str | None
) -> None:
    assert code(text, operands, results) == expected


def test_an_op_without_results_has_no_rule() -> None:
    problem = check_rule(OpShardingRule((), ((),), ()), ((),), ())
    assert problem is not None
    assert problem.code == "SDY-R002"


def test_messages_use_factor_symbols() -> None:
    problem = check_rule(rule("<([i])->([i]) {i=8, j=4}>"), ((8,),), ((8,),))
    assert problem is not None
    assert problem.message == "expected some tensor to have factor j, of size 4"


def test_a_factor_below_0_is_out_of_range() -> None:
    negative = OpShardingRule((8,), (((FactorIndex(-1),),),), (((FactorIndex(0),),),))
    problem = check_rule(negative, ((8,),), ((8,),))
    assert problem is not None
    assert problem.code == "SDY-R006"
