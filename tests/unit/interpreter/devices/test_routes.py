from __future__ import annotations

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.devices.grid import Grid, subgrid
from sdy.interpreter.devices.replica_groups import ReplicaGroups, Strategy
from sdy.interpreter.devices.routes import route_from_root, route_of_pairs, sent

GRID = Grid((3, 2), 1, 6)


def pairs(*rows: tuple[int, int]) -> ReplicaGroups:
    return ReplicaGroups(rows, Strategy.CROSS_PARTITION)


def test_only_axes_on_which_something_moves_are_touched() -> None:
    shift = pairs((0, 2), (1, 3), (2, 4), (3, 5))
    route = route_of_pairs(shift, GRID)
    assert route.moving == (0,)
    received = sent(np.array([[7], [8], [9]]), route)
    assert received.tolist() == [[0], [7], [8]]


def test_moves_that_differ_along_an_axis_touch_it() -> None:
    route = route_of_pairs(pairs((0, 2), (3, 1)), GRID)
    assert route.moving == (0, 1)
    assert sent(np.arange(6).reshape(3, 2) + 1, route).reshape(-1).tolist() == [0, 4, 1, 0, 0, 0]


def test_no_pairs_leave_zeros_everywhere() -> None:
    assert sent(np.array([[5]]), route_of_pairs(pairs(), GRID)).tolist() == [[0]]


def test_a_broadcast_comes_from_the_root() -> None:
    rows = ReplicaGroups(((1, 0), (3, 2), (5, 4)), Strategy.CROSS_PARTITION)
    route = route_from_root(rows, GRID, 1)
    assert sent(np.arange(6).reshape(3, 2), route).tolist() == [[0, 0], [2, 2], [4, 4]]
    with pytest.raises(SdyError) as raised:
        route_from_root(rows, GRID, 2)
    assert raised.value.diagnostics[0].code == "SDY-X009"


def test_both_ends_of_a_pair_must_be_there() -> None:
    with pytest.raises(SdyError) as raised:
        route_of_pairs(pairs((0, 5)), subgrid(GRID, np.array([4, 5])))
    assert "device 5 waits for device 0" in raised.value.diagnostics[0].message
