"""Tests for two shardings that put the same data on the same devices.

Source: docs/spec/01, 3.4 and 3.6.
"""

from __future__ import annotations

from math import isclose, prod
from typing import NamedTuple

from sdy.model.axis import AxisRef, can_merge
from sdy.model.axis_list import sharded_size
from sdy.model.axis_on_mesh import merge_refs
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding

_TOLERANCE = 1e-6


def is_equivalent(a: TensorSharding | None, b: TensorSharding | None, *, ignore_unreduced: bool = False) -> bool:
    """Return whether both shard the tensor along the same axes in the same way.

    Open flags, priorities, replicated axes and the reduction kind are ignored. A missing sharding is equivalent to one
    without axes, on any mesh and of any rank. An inlined mesh and the name of that mesh differ. If `a` is missing,
    unreduced axes of `b` are ignored too: docs/spec/05, 0.3.
    """
    if a is None:
        return _is_trivial(b, ignore_unreduced=True)
    if _is_trivial(a, ignore_unreduced):
        return _is_trivial(b, ignore_unreduced)
    return (
        b is not None
        and a.mesh == b.mesh
        and (ignore_unreduced or a.unreduced == b.unreduced)
        and tuple(dim.axes for dim in a.dims) == tuple(dim.axes for dim in b.dims)
    )


def _is_trivial(sharding: TensorSharding | None, ignore_unreduced: bool) -> bool:
    return sharding is None or (sharding.is_fully_replicated and (ignore_unreduced or not sharding.unreduced))


class _Stride(NamedTuple):
    """One axis of a tensor's linear layout, with the distance in elements between neighbouring shards along it."""

    axis: AxisRef
    elements: float
    prefix: int  # number of shards along all axes major to this one
    dim_size: int


def is_equivalent_across_reshape(
    a: TensorSharding,
    a_shape: tuple[int, ...],
    b: TensorSharding,
    b_shape: tuple[int, ...],
    mesh: Mesh,
    *,
    allow_uneven: bool = False,
) -> bool:
    """Return whether `a` on `a_shape` and `b` on the reshape to `b_shape` put every element on the same devices.

    Both must name the same mesh and the same replicated axes. Unreduced axes, open flags and priorities are ignored.
    """
    if (a, a_shape) == (b, b_shape):
        return True
    if not isinstance(a.mesh, str) or a.mesh != b.mesh or a.replicated != b.replicated:
        return False
    left = _strides(a, a_shape, mesh, allow_uneven)
    right = _strides(b, b_shape, mesh, allow_uneven)
    if [stride.axis for stride in left] != [stride.axis for stride in right]:
        return False
    if allow_uneven:
        return all(x.prefix == y.prefix for x, y in zip(left, right, strict=True))
    return all(_close(x.elements, y.elements) for x, y in zip(left, right, strict=True))


def _strides(sharding: TensorSharding, shape: tuple[int, ...], mesh: Mesh, allow_uneven: bool) -> list[_Stride]:
    """Return the axes of all dims by ascending stride, with adjacent sub-axes of one axis joined."""
    strides: list[_Stride] = []
    inner_elements = 1.0
    for index in range(len(shape) - 1, -1, -1):
        size, axes = shape[index], sharding.dims[index].axes
        shard_count = sharded_size(axes, mesh)
        elements = inner_elements * (size / shard_count if allow_uneven else -(-size // shard_count))
        outer = prod(shape[:index])
        for position in range(len(axes) - 1, -1, -1):
            strides.append(_Stride(axes[position], elements, outer * sharded_size(axes[:position], mesh), size))
            elements *= mesh.size_of(axes[position])
        inner_elements *= size
    joined: list[_Stride] = []
    for stride in sorted(strides, key=lambda stride: stride.elements):
        if joined and _joins(stride, joined[-1], mesh, allow_uneven):
            minor = joined.pop()
            axis = merge_refs(stride.axis, minor.axis, mesh)
            stride = minor._replace(axis=axis, prefix=min(stride.prefix, minor.prefix))
        joined.append(stride)
    return joined


def _joins(major: _Stride, minor: _Stride, mesh: Mesh, allow_uneven: bool) -> bool:
    """Return whether two axes that are neighbours by stride are adjacent sub-axes that split one run of elements."""
    if not can_merge(major.axis, minor.axis):
        return False
    if not allow_uneven:
        return _close(major.elements, minor.elements * mesh.size_of(minor.axis))
    major_fills_its_dim = mesh.size_of(major.axis) == major.dim_size
    return minor.prefix == major.prefix or (major_fills_its_dim and minor.prefix == major.prefix * major.dim_size)


def _close(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=0, abs_tol=_TOLERANCE)
