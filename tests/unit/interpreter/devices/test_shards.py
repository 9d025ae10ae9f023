from __future__ import annotations

import numpy as np
import pytest
from support.model.notation import mesh, sharding

from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import shard, unshard
from sdy.interpreter.devices.values import DeviceArray, replicated

MESH = mesh('<["x"=2, "y"=2]>')


def test_shards_vary_along_their_axes() -> None:
    value = shard(np.arange(8).reshape(4, 2), sharding('[{"y"}, {}]'), MESH)
    assert value.array.shape == (1, 2, 2, 2)
    assert value.device_view(0).tolist() == value.device_view(2).tolist() == [[0, 1], [2, 3]]
    assert value.device_view(1).tolist() == [[4, 5], [6, 7]]


def test_the_first_axis_of_a_dim_is_the_major_one() -> None:
    value = shard(np.arange(4), sharding('[{"y", "x"}]'), MESH)
    assert [int(value.device_view(device)[0]) for device in range(4)] == [0, 2, 1, 3]


def test_a_dim_that_does_not_divide_is_padded_at_the_end() -> None:
    value = shard(np.arange(1, 6), sharding('[{"x", "y"}]'), MESH)
    assert [value.device_view(device).tolist() for device in range(4)] == [[1, 2], [3, 4], [5, 0], [0, 0]]
    assert unshard(value, sharding('[{"x", "y"}]'), MESH, (5,)).tolist() == [1, 2, 3, 4, 5]


def test_sub_axes_refine_the_grid() -> None:
    wide = mesh('<["x"=8]>')
    value = shard(np.arange(2), sharding('[{"x":(2)2}]'), wide)
    assert value.grid.sizes == (2, 2, 2)
    assert [int(value.device_view(device)[0]) for device in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_devices_in_another_order() -> None:
    turned = mesh('<["x"=2], device_ids=[1, 0]>')
    value = shard(np.arange(2), sharding('[{"x"}]'), turned)
    assert value.device_view(1).tolist() == [0]
    assert unshard(value, sharding('[{"x"}]'), turned, (2,)).tolist() == [0, 1]


def test_unreduced_value_is_on_the_first_device_and_summed_by_unshard() -> None:
    partial = sharding('[{}], unreduced={"x"}')
    value = shard(np.array([5]), partial, MESH)
    assert [int(value.device_view(device)[0]) for device in range(4)] == [5, 5, 0, 0]
    assert unshard(DeviceArray(np.array([[[5]], [[7]]]), grid_of_mesh(MESH)), partial, MESH, (1,)).tolist() == [12]


def test_the_maximum_of_zeros_of_both_signs_is_positive() -> None:
    largest = sharding('[{}], unreduced=max{"x"}')
    for values in ([[[0.0]], [[-0.0]]], [[[-0.0]], [[0.0]]]):
        found = unshard(DeviceArray(np.array(values), grid_of_mesh(MESH)), largest, MESH, (1,))
        assert not np.signbit(found).any()


def test_sharding_of_rank_0_returns_the_global_shape() -> None:
    assert shard(np.zeros((3, 2)), sharding("[]"), MESH).local_shape == (3, 2)


def test_ranks_and_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="rank 1"):
        shard(np.zeros((2, 2)), sharding("[{}]"), MESH)
    with pytest.raises(ValueError, match="shape"):
        unshard(replicated(np.zeros(3), grid_of_mesh(MESH)), sharding('[{"x"}]'), MESH, (4,))
