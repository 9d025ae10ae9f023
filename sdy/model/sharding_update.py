"""Constructors of shardings from a rank, and functions that return a changed copy of a sharding.

Source: docs/spec/01, 3.2 and 3.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_on_mesh import mesh_order_key
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding


def fully_open(mesh: str | Mesh, rank: int) -> TensorSharding:
    """Return a sharding with every dim open and without axes."""
    return unsharded(mesh, rank, is_closed=False)


def fully_closed(mesh: str | Mesh, rank: int) -> TensorSharding:
    """Return a sharding with every dim closed and without axes, so that it stays replicated."""
    return unsharded(mesh, rank, is_closed=True)


def unsharded(mesh: str | Mesh, rank: int, *, is_closed: bool) -> TensorSharding:
    """Return a sharding without axes whose dims are all closed, or all open."""
    return TensorSharding(mesh, (DimSharding(is_closed=is_closed),) * rank)


def closed_on(mesh: str | Mesh, axes: Iterable[AxisList], unreduced: AxisList = ()) -> TensorSharding:
    """Return a sharding with every dim closed and sharded along the axes listed for it, without priorities."""
    return TensorSharding(mesh, tuple(DimSharding(refs) for refs in axes), unreduced=unreduced)


def fully_open_like(sharding: TensorSharding) -> TensorSharding:
    """Return a fully open sharding on the mesh and of the rank of `sharding`."""
    return fully_open(sharding.mesh, sharding.rank)


def fully_closed_like(sharding: TensorSharding) -> TensorSharding:
    """Return a fully closed sharding without axes, on the mesh and of the rank of `sharding`."""
    return fully_closed(sharding.mesh, sharding.rank)


def closed_like(sharding: TensorSharding) -> TensorSharding:
    """Return the sharding with every dim closed. Priorities stay; the replicated axes are dropped."""
    dims = tuple(replace(dim, is_closed=True) for dim in sharding.dims)
    return replace(sharding, dims=dims, replicated=())


def with_closed(sharding: TensorSharding, dims: Iterable[int], *, is_closed: bool = True) -> TensorSharding:
    """Return the sharding with the listed dims closed, or open if `is_closed` is False."""
    listed = frozenset(dims)
    return replace(
        sharding,
        dims=tuple(
            replace(dim, is_closed=is_closed) if index in listed else dim for index, dim in enumerate(sharding.dims)
        ),
    )


def with_dim(sharding: TensorSharding, index: int, dim: DimSharding) -> TensorSharding:
    """Return the sharding with dim `index` replaced by `dim`."""
    return replace(sharding, dims=(*sharding.dims[:index], dim, *sharding.dims[index + 1 :]))


def replicate_further(sharding: TensorSharding, axis: str, mesh: Mesh) -> TensorSharding:
    """Return the sharding with a full axis added to the replicated axes, in mesh order."""
    assert can_replicate(sharding, axis)
    refs, ref = sharding.replicated, AxisRef(axis)
    index = bisect_right(refs, mesh_order_key(ref, mesh), key=lambda other: mesh_order_key(other, mesh))
    return replace(sharding, replicated=(*refs[:index], ref, *refs[index:]))


def is_bound(sharding: TensorSharding, axis: str) -> bool:
    """Return whether the sharding refers to the axis or to a sub-axis of it."""
    return any(ref.name == axis for ref in sharding.axis_refs())


def can_shard(sharding: TensorSharding, index: int, axis: str) -> bool:
    """Return whether dim `index` can be sharded along the full axis: the dim is open and the axis is unused."""
    return not sharding.dims[index].is_closed and not is_bound(sharding, axis)


def can_replicate(sharding: TensorSharding, axis: str) -> bool:
    """Return whether the tensor can be explicitly replicated along the full axis: the axis is unused."""
    return not is_bound(sharding, axis)


def open_except(ranks: Sequence[int], index: int, sharding: TensorSharding) -> tuple[TensorSharding, ...]:
    """Return one sharding per rank: `sharding` at `index`, fully open ones on its mesh elsewhere."""
    opened = tuple(fully_open(sharding.mesh, rank) for rank in ranks)
    return (*opened[:index], sharding, *opened[index + 1 :])


def replaced_at(
    shardings: tuple[TensorSharding, ...], index: int, sharding: TensorSharding
) -> tuple[TensorSharding, ...]:
    """Return the tuple with the element at `index` replaced."""
    return (*shardings[:index], sharding, *shardings[index + 1 :])


def without_manual_axes(sharding: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """Return the local sharding, as seen inside the body: without the manual axes.

    The axes of every dim are manual axes followed by free ones. Source: docs/spec/01, 6.4.
    """
    if not manual_axes:
        return sharding

    def free(axes: AxisList) -> AxisList:
        return tuple(axis for axis in axes if axis.name not in manual_axes)

    dims = tuple(replace(dim, axes=dim.axes[len(manual_prefix(dim, manual_axes)) :]) for dim in sharding.dims)
    return replace(sharding, dims=dims, replicated=free(sharding.replicated), unreduced=free(sharding.unreduced))


def with_manual_axes(outer: TensorSharding, inner: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """Return `inner` with the manual axes of each dim of `outer`, and the replicated and unreduced axes of `outer`."""
    dims = tuple(
        replace(new, axes=(*manual_prefix(old, manual_axes), *new.axes))
        for old, new in zip(outer.dims, inner.dims, strict=True)
    )
    return TensorSharding(inner.mesh, dims, outer.replicated, outer.unreduced, ReductionKind.SUM)


def manual_prefix(dim: DimSharding, manual_axes: Collection[str]) -> AxisList:
    """Return the manual axes at the major end of the dim."""
    return tuple(takewhile(lambda axis: axis.name in manual_axes, dim.axes))
