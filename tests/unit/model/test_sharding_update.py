"""Shardings made from ranks and from other shardings."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, refs, sharding

from sdy.model.sharding_update import (
    can_replicate,
    can_shard,
    closed_like,
    closed_on,
    fully_closed,
    fully_closed_like,
    fully_open,
    fully_open_like,
    is_bound,
    open_except,
    replaced_at,
    replicate_further,
    unsharded,
    with_closed,
    with_dim,
)

FULL = sharding('[{"a"}p1, {"b":(1)2, ?}, {}], replicated={"c"}, unreduced={"d"}')
MESH = mesh('<["a"=2, "b"=4, "c"=2, "d"=2, "e"=2]>')


def test_fully_open_and_fully_closed() -> None:
    assert fully_open("m", 2) == unsharded("m", 2, is_closed=False) == sharding("[{?}, {?}]")
    assert fully_closed("m", 2) == unsharded("m", 2, is_closed=True) == sharding("[{}, {}]")
    assert fully_open_like(FULL) == sharding("[{?}, {?}, {?}]")
    assert fully_closed_like(FULL) == sharding("[{}, {}, {}]")


def test_closed_like_drops_replicated_axes() -> None:
    assert closed_like(FULL) == sharding('[{"a"}p1, {"b":(1)2}, {}], unreduced={"d"}')


def test_closed_on_axes() -> None:
    expected = sharding('[{"a"}, {}], unreduced={"d"}')
    assert closed_on("m", (refs('{"a"}'), ()), refs('{"d"}')) == expected


def test_with_closed_changes_the_listed_dims() -> None:
    assert with_closed(FULL, [1]).dims[1].is_closed
    assert with_closed(FULL, [0, 2], is_closed=False) == sharding(
        '[{"a", ?}p1, {"b":(1)2, ?}, {?}], replicated={"c"}, unreduced={"d"}'
    )
    assert with_dim(FULL, 2, FULL.dims[0]).dims == (FULL.dims[0], FULL.dims[1], FULL.dims[0])


def test_replicating_further_keeps_mesh_order() -> None:
    given = sharding('[{}], replicated={"a", "d"}')
    assert replicate_further(given, "b", MESH) == sharding('[{}], replicated={"a", "b", "d"}')
    assert replicate_further(given, "e", MESH) == sharding('[{}], replicated={"a", "d", "e"}')


@pytest.mark.parametrize(("axis", "bound"), [("a", True), ("b", True), ("c", True), ("d", True), ("e", False)])
def test_an_axis_is_bound_wherever_it_is_mentioned(axis: str, bound: bool) -> None:
    assert is_bound(FULL, axis) is bound
    assert can_replicate(FULL, axis) is not bound
    assert can_shard(FULL, 1, axis) is not bound
    assert not can_shard(FULL, 0, axis)  # closed


def test_open_except_and_replaced_at() -> None:
    one = sharding('[{"a"}]')
    assert open_except((1, 1, 2), 1, one) == (fully_open("m", 1), one, fully_open("m", 2))
    assert replaced_at((one, one), 0, fully_open("m", 1)) == (fully_open("m", 1), one)
