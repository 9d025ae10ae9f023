from __future__ import annotations

import numpy as np
import pytest

from sdy.interpreter.devices.grid import Grid, ascending_strides, axes_of_ref, grid_of, grid_of_mesh, refined, subgrid
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.mesh import Mesh, MeshAxis

MESH = Mesh((MeshAxis("x", 4), MeshAxis("one", 1), MeshAxis("y", 6)))


def test_axes_of_one_device_do_not_count() -> None:
    assert grid_of_mesh(MESH) == Grid((4, 6), 1, 24)
    assert grid_of(partition_count=3, replica_count=1).sizes == (3,)
    assert grid_of(partition_count=1, replica_count=2).sizes == (2,)


def test_sub_axes_become_grid_axes() -> None:
    halves, thirds = AxisRef("x", SubAxis(1, 2)), AxisRef("y", SubAxis(2, 3))
    grid = grid_of_mesh(MESH, [halves, thirds])
    assert grid.sizes == (2, 2, 2, 3)
    assert axes_of_ref(grid, halves, MESH) == (0,)
    assert axes_of_ref(grid, thirds, MESH) == (3,)
    assert axes_of_ref(grid, AxisRef("y"), MESH) == (2, 3)
    assert axes_of_ref(grid, AxisRef("one"), MESH) == ()


def test_overlapping_sub_axes_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlap"):
        grid_of_mesh(MESH, [AxisRef("y", SubAxis(1, 2)), AxisRef("y", SubAxis(1, 3))])


def test_refining_keeps_devices_and_needs_divisors() -> None:
    grid = Grid((4, 6), 1, 24)
    assert ascending_strides(grid) == (1, 6, 24)
    assert refined(grid, (2, 12)) == Grid((2, 2, 3, 2), 1, 24)
    assert refined(grid, (4,)) is None
    assert refined(grid, (48,)) is None


def test_grid_has_the_device_order_of_the_mesh() -> None:
    grid = grid_of_mesh(Mesh((MeshAxis("x", 3),), (2, 0, 1)))
    assert grid.ids.tolist() == [2, 0, 1]
    assert grid.position_of(0) == 1
    assert subgrid(grid, np.array([0, 2])) == Grid((2,), 1, 3, (2, 1))
    with pytest.raises(KeyError):
        subgrid(grid, np.array([0])).position_of(0)


def test_a_mesh_without_axes_is_the_grid_of_rank_0() -> None:
    assert grid_of_mesh(Mesh(())) == Grid((), 1, 1)
    assert grid_of_mesh(Mesh((), (5,))) == Grid((), 1, 1)
