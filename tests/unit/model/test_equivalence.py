"""Equivalence of shardings."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, sharding

from sdy.grammar.parse import parse_sharding
from sdy.model.equivalence import is_equivalent, is_equivalent_across_reshape

MESH = mesh('<["a"=6, "b"=2, "c"=4]>')


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ('[{"a", ?}p2, {}]', '[{"a"}, {?}], replicated={"b"}', True),
        ('[{"a"}, {}]', '[{}, {"a"}]', False),
        ('[{"a"}]', '[{"a"}, {}]', False),
        ("[{}, {}]", "[{?}]", True),  # without axes the rank does not count
        ('[{"a"}], unreduced={"b"}', '[{"a"}]', False),
        ('[{}], unreduced={"b"}', "[{}]", False),
        ('[{"a"}], unreduced=max{"b"}', '[{"a"}], unreduced={"b"}', True),  # nor does the kind
    ],
)
def test_is_equivalent(left: str, right: str, expected: bool) -> None:
    assert is_equivalent(sharding(left), sharding(right)) is expected
    assert is_equivalent(sharding(right), sharding(left)) is expected


def test_unreduced_axes_may_be_ignored() -> None:
    assert is_equivalent(sharding('[{"a"}], unreduced={"b"}'), sharding('[{"a"}]'), ignore_unreduced=True)
    assert is_equivalent(sharding('[{}], unreduced={"b"}'), None, ignore_unreduced=True)


def test_a_missing_sharding_equals_one_without_axes_on_any_mesh() -> None:
    assert is_equivalent(None, None)
    assert is_equivalent(None, sharding("[{?}]"))
    assert is_equivalent(sharding("[{}]"), parse_sharding("<@other, [{}]>"))
    assert not is_equivalent(None, sharding('[{"a"}]'))
    assert not is_equivalent(sharding('[{"a"}]'), None)
    assert is_equivalent(None, sharding('[{}], unreduced={"a"}'))
    assert not is_equivalent(sharding('[{}], unreduced={"a"}'), None)


def test_an_inlined_mesh_differs_from_its_name() -> None:
    named, inlined = parse_sharding('<@m, [{"x"}]>'), parse_sharding('<mesh<["x"=2]>, [{"x"}]>')
    assert not is_equivalent(named, inlined)
    assert not is_equivalent(named, parse_sharding('<@n, [{"x"}]>'))


@pytest.mark.parametrize(
    ("left", "left_shape", "right", "right_shape", "expected"),
    [
        ('[{"a":(1)3}, {"a":(3)2}]', (3, 4), '[{"a"}]', (12,), True),
        ('[{"a":(3)2}, {"a":(1)3}]', (2, 6), '[{"a"}]', (12,), False),
        ('[{"a"}, {}]', (12, 4), '[{"a"}]', (48,), True),
        ('[{}, {"b"}]', (4, 8), '[{"b"}]', (32,), False),
        ('[{"b"}, {"c"}]', (2, 8), '[{"b", "c"}]', (16,), True),
        ('[{"b"}, {"c"}]', (4, 8), '[{"b", "c"}]', (32,), False),  # the second dim is not cut whole
        ('[{"b"}], replicated={"c"}', (8,), '[{"b"}, {}]', (8, 1), False),
        ('[{"b"}], unreduced={"c"}', (8,), '[{"b"}, {}]', (8, 1), True),
    ],
)
def test_is_equivalent_across_reshape(
    left: str, left_shape: tuple[int, ...], right: str, right_shape: tuple[int, ...], expected: bool
) -> None:
    a, b = sharding(left), sharding(right)
    assert is_equivalent_across_reshape(a, left_shape, b, right_shape, MESH) is expected
    assert is_equivalent_across_reshape(b, right_shape, a, left_shape, MESH) is expected


def test_equivalence_across_reshapes_requires_the_same_mesh_name() -> None:
    inlined = parse_sharding('<mesh<["b"=2]>, [{"b"}]>')
    assert is_equivalent_across_reshape(inlined, (8,), inlined, (8,), mesh('<["b"=2]>'))
    assert not is_equivalent_across_reshape(inlined, (8,), inlined, (8, 1), mesh('<["b"=2]>'))
    other = parse_sharding('<@n, [{"b"}]>')
    assert not is_equivalent_across_reshape(sharding('[{"b"}]'), (8,), other, (8,), MESH)


def test_uneven_dims_compare_by_what_is_major_to_an_axis() -> None:
    a, b = sharding('[{"c"}, {}]'), sharding('[{"c"}]')
    assert not is_equivalent_across_reshape(a, (6, 4), b, (24,), MESH)
    assert is_equivalent_across_reshape(a, (6, 4), b, (24,), MESH, allow_uneven=True)
    assert not is_equivalent_across_reshape(sharding('[{}, {"c"}]'), (6, 4), b, (24,), MESH, allow_uneven=True)


def test_uneven_sub_axes_join_if_the_major_one_fills_its_dim() -> None:
    whole = sharding('[{"a"}]')
    parts = sharding('[{"a":(1)3}, {"a":(3)2}]')
    assert is_equivalent_across_reshape(parts, (3, 4), whole, (12,), MESH, allow_uneven=True)
    assert not is_equivalent_across_reshape(parts, (6, 4), whole, (24,), MESH, allow_uneven=True)
