"""Lists of axis refs, on a mesh of "v"=2, "w"=4 and "u"=24."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, ref, refs

from sdy.model.axis import order_key
from sdy.model.axis_list import (
    add_or_merge,
    common_prefix,
    expansion,
    extended,
    first_overlapping,
    is_strict_list_prefix,
    list_order_key,
    lists_overlap,
    prefix_without_any,
    set_difference,
    sharded_size,
    sort_and_merge,
    truncate_overlaps,
)

MESH = mesh('<["v"=2, "w"=4, "u"=24]>')


def test_sharded_size_and_expansion() -> None:
    axes = refs('{"v", "u":(2)3, "w"}')
    assert sharded_size(axes, MESH) == 24
    assert sharded_size((), MESH) == 1
    assert expansion(axes, axes[:2], MESH) == 4


def test_add_or_merge() -> None:
    assert add_or_merge(refs('{"v", "u":(1)2}'), ref('"u":(2)3'), MESH) == refs('{"v", "u":(1)6}')
    assert add_or_merge(refs('{"u":(1)2, "v"}'), ref('"u":(2)3'), MESH) == refs('{"u":(1)2, "v", "u":(2)3}')
    assert add_or_merge((), ref('"v"'), MESH) == refs('{"v"}')


def test_a_merged_ref_is_not_merged_backwards() -> None:
    assert extended(refs('{"u":(1)2, "u":(4)2}'), refs('{"u":(8)3}'), MESH) == refs('{"u":(1)2, "u":(4)6}')


def test_sort_and_merge_is_in_mesh_order() -> None:
    assert sort_and_merge(refs('{"u":(4)6, "u":(1)2, "v", "u":(2)2}'), MESH) == refs('{"v", "u"}')
    assert sort_and_merge(refs('{"u":(4)6, "u":(1)2}'), MESH) == refs('{"u":(1)2, "u":(4)6}')


def test_lists_overlap() -> None:
    assert lists_overlap(refs('{"v", "u":(1)2}'), refs('{"w", "u"}'))
    assert not lists_overlap(refs('{"v", "u":(1)2}'), refs('{"w", "u":(2)3}'))


@pytest.mark.parametrize(
    ("axes", "others", "expected"),
    [
        ('{"v", "u"}', '{"w"}', '{"v", "u"}'),
        ('{"v", "u", "w"}', '{"u":(2)3}', '{"v", "u":(1)2}'),
        ('{"v", "u", "w"}', '{"u":(1)2}', '{"v"}'),
        ('{"v", "u"}', '{"u":(6)2, "u":(2)3}', '{"v", "u":(1)2}'),
        ("{}", '{"v"}', "{}"),
    ],
)
def test_truncate_overlaps(axes: str, others: str, expected: str) -> None:
    assert truncate_overlaps(refs(axes), refs(others)) == refs(expected)


def test_prefix_without_any() -> None:
    assert prefix_without_any(ref('"u"'), refs('{"u":(6)2, "u":(2)3}')) == ref('"u":(1)2')
    assert prefix_without_any(ref('"u"'), refs('{"v", "u":(1)2, "w"}')) is None
    assert prefix_without_any(ref('"v"'), ()) == ref('"v"')


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ('{"v", "w"}', '{"v", "u"}', '{"v"}'),
        ('{"v", "u"}', '{"v", "u":(1)2, "w"}', '{"v", "u":(1)2}'),
        ('{"v"}', '{"v", "w"}', '{"v"}'),
        ('{"u":(1)2}', '{"u":(1)3}', "{}"),
        ("{}", '{"v"}', "{}"),
    ],
)
def test_common_prefix_both_ways(a: str, b: str, expected: str) -> None:
    assert common_prefix(refs(a), refs(b)) == refs(expected)
    assert common_prefix(refs(b), refs(a)) == refs(expected)


@pytest.mark.parametrize(
    ("axes", "minus", "expected"),
    [
        ('{"u"}', '{"u":(2)3}', '{"u":(1)2, "u":(6)4}'),
        ('{"v", "u":(1)4}', '{"u":(1)2}', '{"v", "u":(2)2}'),
        ('{"u", "v"}', '{"u":(2)2, "u":(6)2}', '{"u":(1)2, "v"}'),  # after (2)2, the rest (4)6 does not fit (6)2
        ('{"u"}', '{"u":(2)2, "u":(8)3}', '{"u":(1)2, "u":(4)2}'),
        ('{"u"}', '{"u"}', "{}"),
        ('{"u":(2)3}', '{"u"}', "{}"),
        ('{"v", "w"}', "{}", '{"v", "w"}'),
        ("{}", '{"v"}', "{}"),
        ('{"u":(1)3}', '{"u":(1)2}', "{}"),  # they overlap, and do not coexist
    ],
)
def test_set_difference(axes: str, minus: str, expected: str) -> None:
    assert set_difference(refs(axes), refs(minus), MESH) == refs(expected)


def test_first_overlapping_checks_the_refs_before_and_after() -> None:
    ordered = sorted(refs('{"u":(1)2, "u":(6)4, "v"}'), key=order_key)
    assert first_overlapping(ref('"u"'), ordered) == ref('"u":(1)2')
    assert first_overlapping(ref('"u":(2)6'), ordered) == ref('"u":(6)4')
    assert first_overlapping(ref('"u":(2)3'), ordered) is None
    assert first_overlapping(ref('"w"'), ordered) is None


def test_lists_sort_by_length_first() -> None:
    lists = [refs('{"a", "b"}'), refs('{"z"}'), refs('{"a", "a":(2)2}'), refs("{}"), refs('{"b"}')]
    assert sorted(lists, key=list_order_key) == [lists[3], lists[4], lists[1], lists[2], lists[0]]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("{}", '{"v"}', True),
        ("{}", "{}", False),
        ('{"v"}', '{"v"}', False),
        ('{"v"}', '{"v", "w"}', True),
        ('{"v", "w"}', '{"v"}', False),
        ('{"u":(1)2}', '{"u"}', True),
        ('{"u":(1)2}', '{"u", "v"}', True),
        ('{"u":(2)2}', '{"u", "v"}', False),
        ('{"w", "u":(1)2}', '{"v", "u"}', False),
    ],
)
def test_is_strict_list_prefix(a: str, b: str, expected: bool) -> None:
    assert is_strict_list_prefix(refs(a), refs(b)) is expected
