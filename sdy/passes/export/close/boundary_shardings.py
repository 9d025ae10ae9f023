"""Restrict shardings to those that arguments and results of a program may have. Source: docs/spec/04, 4.4 and 4.5."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from math import gcd

from sdy.model.axis import AxisRef, can_all_coexist
from sdy.model.axis_list import sharded_size
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape
from sdy.model.sharding import DimSharding, TensorSharding


def divisible(sharding: TensorSharding, shape: Shape, mesh: Mesh) -> TensorSharding:
    """Return the sharding with the axes of each dim that divide it, using sub-axes of one split of their axis only."""
    if not sharding.dims:
        return sharding
    dims = tuple(
        dim if size is None else _divisible_dim(dim, size, mesh) for dim, size in zip(sharding.dims, shape, strict=True)
    )
    return _of_one_split(replace(sharding, dims=dims))


def _of_one_split(sharding: TensorSharding) -> TensorSharding:
    """Remove sub-axes that do not coexist with earlier ones: on an axis of size 6, `(1)2` and `(3)2` do not.

    Upstream accepts such shardings, but cannot represent their shards.
    """
    if can_all_coexist(sharding.axis_refs()):
        return sharding
    kept = list(sharding.unreduced)  # unreduced axes change the meaning of the value, so they come first

    def coexists(ref: AxisRef) -> bool:
        if not can_all_coexist((*kept, ref)):
            return False
        kept.append(ref)
        return True

    axes = [tuple(takewhile(coexists, dim.axes)) for dim in sharding.dims]
    dims = tuple(
        dim if own == dim.axes else DimSharding(own, dim.is_closed)
        for dim, own in zip(sharding.dims, axes, strict=True)
    )
    return replace(sharding, dims=dims, replicated=tuple(filter(coexists, sharding.replicated)))


def _divisible_dim(dim: DimSharding, size: int, mesh: Mesh) -> DimSharding:
    if size % sharded_size(dim.axes, mesh) == 0:
        return dim
    kept: list[AxisRef] = []
    for axis in dim.axes:
        axis_size = mesh.size_of(axis)
        common = gcd(axis_size, size)
        if common == axis_size:
            kept.append(axis)
            size //= common
            continue
        if common > 1:
            kept.append(split_at(axis, common, mesh)[0])
        break
    return DimSharding(tuple(kept), dim.is_closed)


def without_open_sub_axes(sharding: TensorSharding) -> TensorSharding:
    """Return the sharding with each open dim truncated before its first sub-axis."""

    def full_axes(dim: DimSharding) -> DimSharding:
        if dim.is_closed:
            return dim
        return replace(dim, axes=tuple(takewhile(lambda axis: axis.sub_axis is None, dim.axes)))

    return replace(sharding, dims=tuple(full_axes(dim) for dim in sharding.dims))
