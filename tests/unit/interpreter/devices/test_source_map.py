from __future__ import annotations

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.devices.grid import Grid, subgrid
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups
from sdy.interpreter.ops.collectives import received, sources_of_broadcast, sources_of_pairs

GRID = Grid((3, 2), 1, 6)


def pairs(*rows: tuple[int, int]) -> ReplicaGroups:
    return ReplicaGroups(rows, GroupingStrategy.CROSS_PARTITION)


def test_only_axes_along_which_values_move_are_moving() -> None:
    shift = pairs((0, 2), (1, 3), (2, 4), (3, 5))
    sources = sources_of_pairs(shift, GRID)
    assert sources.moving == (0,)
    assert received(np.array([[7], [8], [9]]), sources).tolist() == [[0], [7], [8]]


def test_an_axis_is_moving_if_transfers_differ_along_it() -> None:
    sources = sources_of_pairs(pairs((0, 2), (3, 1)), GRID)
    assert sources.moving == (0, 1)
    assert received(np.arange(6).reshape(3, 2) + 1, sources).reshape(-1).tolist() == [0, 4, 1, 0, 0, 0]


def test_without_pairs_every_device_receives_zeros() -> None:
    assert received(np.array([[5]]), sources_of_pairs(pairs(), GRID)).tolist() == [[0]]


def test_a_broadcast_sends_from_the_root() -> None:
    rows = ReplicaGroups(((1, 0), (3, 2), (5, 4)), GroupingStrategy.CROSS_PARTITION)
    sources = sources_of_broadcast(rows, GRID, 1)
    assert received(np.arange(6).reshape(3, 2), sources).tolist() == [[0, 0], [2, 2], [4, 4]]
    with pytest.raises(SdyError) as raised:
        sources_of_broadcast(rows, GRID, 2)
    assert raised.value.diagnostics[0].code == "SDY-X009"


def test_both_devices_of_a_pair_must_be_present() -> None:
    with pytest.raises(SdyError) as raised:
        sources_of_pairs(pairs((0, 5)), subgrid(GRID, np.array([4, 5])))
    assert "device 5 receives from device 0" in raised.value.diagnostics[0].message
