from __future__ import annotations

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.devices.grid import Grid, subgrid
from sdy.interpreter.devices.replica_groups import (
    AxisGroups,
    GroupingStrategy,
    IndexGroups,
    ReplicaGroups,
    device_groups,
    grid_for,
    layout_of,
    layouts_of,
)

GRID = Grid((2, 3), 1, 6)


def groups(*rows: tuple[int, ...], strategy: GroupingStrategy = GroupingStrategy.FLATTENED_IDS) -> ReplicaGroups:
    return ReplicaGroups(rows, strategy)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (GroupingStrategy.CROSS_REPLICA, ((0, 3), (1, 4), (2, 5))),
        (GroupingStrategy.CROSS_REPLICA_AND_PARTITION, ((0, 3, 1, 4, 2, 5),)),
        (GroupingStrategy.CROSS_PARTITION, ((0, 1), (3, 4))),
        (GroupingStrategy.FLATTENED_IDS, ((0, 1),)),
    ],
)
def test_group_members_are_replicas_partitions_or_devices(
    strategy: GroupingStrategy, expected: tuple[tuple[int, ...], ...]
) -> None:
    assert device_groups(groups((0, 1), strategy=strategy), replicas=2, partitions=3) == expected


def test_empty_groups_mean_all_devices_and_minus_one_is_padding() -> None:
    assert device_groups(groups(strategy=GroupingStrategy.CROSS_PARTITION), 1, 3) == ((0, 1, 2),)
    assert device_groups(groups((0, 1), (2, -1)), 1, 3) == ((0, 1), (2,))


def test_products_of_axes_are_recognised() -> None:
    assert layout_of(groups((0, 1, 2), (3, 4, 5)), GRID) == AxisGroups(GRID, (1,))
    assert layout_of(groups((1, 4), (2, 5), (0, 3)), GRID) == AxisGroups(GRID, (0,))
    assert layout_of(groups((0, 3, 1, 4, 2, 5)), GRID) == AxisGroups(GRID, (1, 0))
    assert layout_of(groups((0,), (1,), (2,), (3,), (4,), (5,)), GRID) == AxisGroups(GRID, ())


@pytest.mark.parametrize(
    "rows",
    [
        ((2, 1, 0), (3, 4, 5)),  # not alike
        ((2, 1, 0), (5, 4, 3)),  # backwards
        ((0, 1), (2, 3), (4, 5)),  # across an axis of 3
        ((1, 2), (3, 4), (5, 0)),
    ],
)
def test_other_groups_are_looked_up(rows: tuple[tuple[int, ...], ...]) -> None:
    layout = layout_of(groups(*rows), GRID)
    assert isinstance(layout, IndexGroups)
    assert layout.members.tolist() == [list(row) for row in rows]


def test_grid_is_refined_if_groups_need_sub_axes() -> None:
    grid = Grid((8,), 1, 8)
    pairs, strided = groups(*((d, d + 1) for d in range(0, 8, 2))), groups((0, 2), (1, 3), (4, 6), (5, 7))
    fine = grid_for(grid, [pairs, strided])
    assert fine.sizes == (2, 2, 2)
    assert layout_of(pairs, fine) == AxisGroups(fine, (2,))
    assert layout_of(strided, fine) == AxisGroups(fine, (1,))


def test_incompatible_groups_do_not_refine_the_grid() -> None:
    assert grid_for(GRID, [groups((0, 1), (2, 3), (4, 5))]) == GRID
    assert grid_for(GRID, [groups((0, 9))]) == GRID


def test_value_equal_within_a_group_is_stored_once() -> None:
    layout = layout_of(groups((0, 1, 2), (3, 4, 5)), GRID)
    members = layout.gather_members(np.arange(6).reshape(2, 3))
    assert members.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layout.to_all_members(members.sum(axis=1)).shape == (2, 1)
    assert layout.to_each_member(members).shape == (2, 3)


def test_device_must_be_in_exactly_one_group() -> None:
    with pytest.raises(SdyError) as raised:
        layouts_of(groups((0, 1), (1, 2)), GRID)
    assert raised.value.diagnostics[0].code == "SDY-X009"
    assert "device 1 must be in one replica group, but is in 2" in raised.value.diagnostics[0].message


def test_only_some_collectives_may_have_groups_of_different_sizes() -> None:
    uneven = groups((0, 1, 2, 3), (4, 5))
    assert [layout.size for layout in layouts_of(uneven, GRID)] == [4, 2]
    with pytest.raises(SdyError) as raised:
        layout_of(uneven, GRID)
    assert "of 2 and of 4" in raised.value.diagnostics[0].message


def test_missing_group_member_is_an_error() -> None:
    some = subgrid(GRID, np.array([0, 1, 3]))
    with pytest.raises(SdyError) as raised:
        layouts_of(groups((0, 1, 2), (3, 4, 5)), some)
    assert raised.value.diagnostics[0].code == "SDY-X010"
    assert "device 0 waits in a collective for device 2" in raised.value.diagnostics[0].message


def test_groups_of_absent_devices_are_ignored() -> None:
    some = subgrid(GRID, np.array([3, 4, 5]))
    assert layout_of(groups((0, 1, 2), (3, 4, 5)), some) == AxisGroups(some, (0,))
