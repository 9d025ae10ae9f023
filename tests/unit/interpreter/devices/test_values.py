from __future__ import annotations

import numpy as np
import pytest

from sdy.interpreter.devices.grid import ONE_DEVICE, Grid
from sdy.interpreter.devices.values import DeviceArray, regridded, replicated, stacked

GRID = Grid((2, 3), 1, 6)


def test_a_value_is_stored_once_along_axes_that_it_does_not_vary_along() -> None:
    value = DeviceArray(np.array([[[1.0]], [[2.0]]]), GRID)
    assert value.local_shape == (1,)
    assert [value.device_view(device)[0] for device in range(6)] == [1, 1, 1, 2, 2, 2]
    assert np.shares_memory(value.device_view(1), value.device_view(2))


def test_leading_dims_must_be_those_of_the_grid() -> None:
    with pytest.raises(ValueError, match="leading dims"):
        DeviceArray(np.zeros((2, 2, 5)), GRID)
    with pytest.raises(ValueError, match="leading dims"):
        DeviceArray(np.zeros(2), GRID)


def test_replicated_and_stacked() -> None:
    assert replicated(np.zeros((4,)), GRID).array.shape == (1, 1, 4)
    assert stacked(np.arange(6), GRID).device_view(4) == 4


def test_a_finer_grid_is_a_reshape() -> None:
    value = DeviceArray(np.arange(8).reshape(4, 1, 2), Grid((4, 3), 1, 12))
    finer = regridded(value, Grid((2, 2, 3), 1, 12))
    assert finer.array.shape == (2, 2, 1, 2)
    assert np.shares_memory(finer.array, value.array)


def test_coarser_grid_varies_along_the_full_axis() -> None:
    value = DeviceArray(np.arange(2).reshape(2, 1, 1), Grid((2, 2, 3), 1, 12))
    coarse = regridded(value, Grid((4, 3), 1, 12))
    assert coarse.array.tolist() == [[0], [0], [1], [1]]
    assert regridded(coarse, Grid((12,), 1, 12)).array.tolist() == [0] * 6 + [1] * 6


def test_other_orders_of_devices_are_looked_up() -> None:
    value = DeviceArray(np.arange(3), Grid((3,), 1, 3))
    turned = regridded(value, Grid((3,), 1, 3, (2, 0, 1)))
    assert turned.array.tolist() == [2, 0, 1]
    assert [int(turned.device_view(device)) for device in range(3)] == [0, 1, 2]


def test_a_value_of_one_device_is_replicated() -> None:
    assert regridded(DeviceArray(np.zeros(4), ONE_DEVICE), GRID).array.shape == (1, 1, 4)
