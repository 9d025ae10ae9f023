"""Factors of reshapes."""

from __future__ import annotations

import pytest

from sdy.grammar.write import write_rule
from sdy.rules.shape import reshape_rule

CASES = [
    ("6", "6", "([i])->([i]) {i=6}"),
    ("6x5", "30", "([i, j])->([ij]) {i=6, j=5}"),
    ("12", "3x4", "([ij])->([i, j]) {i=3, j=4}"),
    ("8", "2x2x2", "([ijk])->([i, j, k]) {i=2, j=2, k=2}"),
    ("12x5", "3x20", "([ij, k])->([i, jk]) {i=3, j=4, k=5}"),
    ("2x7", "7x2", "([i, k])->([j, l]) {i=2, j=7, k=7, l=2}"),
    ("5x4", "2x10", "([i, lm])->([j, km]) {i=5, j=2, k=5, l=2, m=2}"),
    ("6x10", "15x4", "([ij, ln])->([ik, mn]) {i=3, j=2, k=5, l=5, m=2, n=2}"),
    ("20x9", "12x15", "([ij, mn])->([ik, ln]) {i=4, j=5, k=3, l=5, m=3, n=3}"),
    ("2x9x4", "3x6x4", "([i, km, n])->([j, lm, n]) {i=2, j=3, k=3, l=2, m=3, n=4}"),
    ("4x6x25", "10x60", "([ij, l, no])->([ik, mo]) {i=2, j=2, k=5, l=6, m=12, n=5, o=5}"),
    ("1x9x1", "9", "([i, j, k])->([j]) {i=1, j=9, k=1}"),
    ("2x1x3", "3x1x2", "([i, k, m])->([j, l, n]) {i=2, j=3, k=1, l=1, m=3, n=2}"),
    ("1x1", "", "([i, j])->([]) {i=1, j=1}"),
    ("", "1", "([])->([i]) {i=1}"),
    ("", "", "([])->([])"),
    ("1x6", "6x1", "([i, j])->([j, k]) {i=1, j=6, k=1}"),
]


@pytest.mark.parametrize(("operand", "result", "expected"), CASES)
def test_factors(operand: str, result: str, expected: str) -> None:
    rule = reshape_rule(_shape(operand), _shape(result))
    assert rule is not None
    assert write_rule(rule) == f"<{expected}>"


def test_an_empty_tensor_has_no_rule() -> None:
    assert reshape_rule((0, 4), (2, 0)) is None


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x") if size)
