"""Operations on axis refs that need the mesh."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, ref, refs

from sdy.model.axis_on_mesh import (
    in_mesh_order,
    is_suffix,
    merge_refs,
    ordered_refs,
    replica_groups,
    suffix_without,
)

MESH = mesh('<["v"=2, "u"=24]>')


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ('"u":(12)2', '"u"', True),
        ('"u":(6)2', '"u"', False),
        ('"u":(6)2', '"u":(2)6', True),
        ('"u"', '"u"', True),
        ('"v"', '"u"', False),
    ],
)
def test_is_suffix(a: str, b: str, expected: bool) -> None:
    assert is_suffix(ref(a), ref(b), MESH) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ('"u":(2)6', '"u":(1)4', '"u":(4)3'),
        ('"u":(2)6', '"u":(4)6', None),
        ('"u"', '"u":(2)3', '"u":(6)4'),
        ('"u":(1)2', '"u":(2)3', '"u":(1)2'),
        ('"u":(1)2', '"u":(1)3', None),
        ('"v"', '"u"', '"v"'),
    ],
)
def test_suffix_without(a: str, b: str, expected: str | None) -> None:
    assert suffix_without(ref(a), ref(b), MESH) == (None if expected is None else ref(expected))


def test_merging_makes_a_longer_sub_axis_or_a_full_axis() -> None:
    assert merge_refs(ref('"u":(2)3'), ref('"u":(6)4'), MESH) == ref('"u":(2)12')
    assert merge_refs(ref('"u":(1)2'), ref('"u":(2)12'), MESH) == ref('"u"')


def test_mesh_order_follows_the_mesh_and_puts_unknown_axes_last() -> None:
    unordered = refs('{"a", "u", "u":(2)2, "u":(1)2, "v"}')
    assert in_mesh_order(unordered, MESH) == refs('{"v", "u":(1)2, "u", "u":(2)2, "a"}')


def test_ordered_refs_split_each_axis_at_all_boundaries() -> None:
    assert ordered_refs(refs('{"u":(2)3}'), MESH) == refs('{"v", "u":(1)2, "u":(2)3, "u":(6)4}')
    assert ordered_refs(refs('{"u":(1)2, "u":(4)6}'), MESH) == refs('{"v", "u":(1)2, "u":(2)2, "u":(4)6}')
    assert ordered_refs((), MESH) == refs('{"v", "u"}')


@pytest.mark.parametrize(
    ("axes", "groups"),
    [
        ('{"b"}', ((0, 1, 2), (3, 4, 5))),
        ('{"a"}', ((0, 3), (1, 4), (2, 5))),
        ('{"b", "a"}', ((0, 3, 1, 4, 2, 5),)),
        ("{}", ((0,), (1,), (2,), (3,), (4,), (5,))),
    ],
)
def test_replica_groups(axes: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert replica_groups(refs(axes), mesh('<["a"=2, "b"=3]>')) == groups


def test_replica_groups_name_the_devices_of_the_mesh() -> None:
    assert replica_groups(refs('{"a"}'), mesh('<["a"=2, "b"=2], device_ids=[3, 1, 0, 2]>')) == ((3, 0), (1, 2))


def test_replica_groups_of_a_sub_axis() -> None:
    assert replica_groups(refs('{"a":(2)2}'), mesh('<["a"=8]>')) == ((0, 2), (1, 3), (4, 6), (5, 7))
