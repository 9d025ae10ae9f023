"""Relations and operations of two axis refs, on an axis "u" of size 24."""

from __future__ import annotations

import pytest
from support.model.notation import ref

from sdy.model.axis import (
    AxisRef,
    can_coexist,
    can_merge,
    contains,
    greatest_common_prefix,
    intersection,
    is_prefix,
    is_strict_prefix,
    order_key,
    overlaps,
    prefix_without,
)


def u(text: str) -> AxisRef:
    """Return the ref to sub-axis `text` of "u"; to the full axis without a text."""
    return ref(f'"u":{text}') if text else ref('"u"')


def maybe_u(text: str | None) -> AxisRef | None:
    return None if text is None else u(text)


def test_refs_print_as_written() -> None:
    assert str(u("")) == '"u"'
    assert str(u("(2)6")) == '"u":(2)6'


@pytest.mark.parametrize("ordered", [["(1)2", "(1)4", "", "(2)2", "(2)4", "(4)2"]])
def test_order_within_an_axis(ordered: list[str]) -> None:
    assert sorted(map(u, reversed(ordered)), key=order_key) == [u(text) for text in ordered]


def test_names_order_before_sub_axes() -> None:
    assert order_key(ref('"a":(4)2')) < order_key(ref('"b":(1)2')) < order_key(ref('"b"'))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", True),
        ("", "(2)3", True),
        ("(2)3", "", False),
        ("(2)6", "(4)3", True),
        ("(2)6", "(2)6", True),
        ("(2)6", "(1)4", False),
        ("(2)3", "(3)2", True),  # by bounds alone, though 2 and 3 do not factor 6 together
    ],
)
def test_contains(a: str, b: str, expected: bool) -> None:
    assert contains(u(a), u(b)) is expected


def test_refs_of_different_axes_are_unrelated() -> None:
    a, b = ref('"a"'), ref('"b"')
    assert not contains(a, b)
    assert not is_prefix(a, b)
    assert not overlaps(a, b)
    assert can_coexist(a, b)
    assert not can_merge(ref('"a":(1)2'), ref('"b":(2)2'))
    assert intersection(a, b) is None
    assert prefix_without(a, b) == a
    assert greatest_common_prefix(a, b) is None


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("(1)2", "", True),
        ("(2)2", "", False),
        ("(2)2", "(2)6", True),
        ("(2)6", "(2)2", False),
        ("", "", True),
        ("", "(1)2", False),
    ],
)
def test_is_prefix(a: str, b: str, expected: bool) -> None:
    assert is_prefix(u(a), u(b)) is expected
    assert is_strict_prefix(u(a), u(b)) is (expected and a != b)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("", "(4)2", True), ("(1)4", "(2)6", True), ("(1)2", "(2)6", False), ("(1)2", "(6)2", False)],
)
def test_overlaps_both_ways(a: str, b: str, expected: bool) -> None:
    assert overlaps(u(a), u(b)) is expected
    assert overlaps(u(b), u(a)) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("(1)4", "(2)6", True),
        ("(1)2", "(6)2", True),
        ("(1)2", "(1)3", False),
        ("(1)2", "(3)2", False),
        ("(1)3", "(2)3", False),
        ("", "(3)2", True),
        ("(2)6", "(2)6", True),
    ],
)
def test_can_coexist_both_ways(a: str, b: str, expected: bool) -> None:
    assert can_coexist(u(a), u(b)) is expected
    assert can_coexist(u(b), u(a)) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("(1)2", "(2)3", True), ("(2)3", "(1)2", False), ("(1)2", "(4)3", False), ("", "(2)2", False)],
)
def test_can_merge(a: str, b: str, expected: bool) -> None:
    assert can_merge(u(a), u(b)) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("(2)6", "(4)6", "(4)3"),
        ("", "(4)6", "(4)6"),
        ("(1)2", "(2)6", None),
        ("(1)2", "(1)3", None),  # they overlap, and do not coexist
    ],
)
def test_intersection_both_ways(a: str, b: str, expected: str | None) -> None:
    assert intersection(u(a), u(b)) == maybe_u(expected)
    assert intersection(u(b), u(a)) == maybe_u(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("(2)6", "(4)6", "(2)2"),
        ("(2)6", "(1)4", None),
        ("(2)6", "(12)2", "(2)6"),
        ("", "(4)6", "(1)4"),
        ("(1)2", "(1)3", None),
    ],
)
def test_prefix_without(a: str, b: str, expected: str | None) -> None:
    assert prefix_without(u(a), u(b)) == maybe_u(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("(2)6", "(2)2", "(2)2"), ("(2)6", "(4)3", None), ("", "(1)4", "(1)4"), ("(1)2", "(1)3", None)],
)
def test_greatest_common_prefix_both_ways(a: str, b: str, expected: str | None) -> None:
    assert greatest_common_prefix(u(a), u(b)) == maybe_u(expected)
    assert greatest_common_prefix(u(b), u(a)) == maybe_u(expected)
