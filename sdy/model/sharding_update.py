"""How a sharding is made from a rank, or from another sharding.

Source: docs/spec/01, 3.2 and 3.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_on_mesh import mesh_order_key
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding

OPEN_DIM = DimSharding(is_closed=False)
CLOSED_DIM = DimSharding()


def fully_open(mesh: str | Mesh, rank: int) -> TensorSharding:
    """Every dim open and without axes."""
    return TensorSharding(mesh, (OPEN_DIM,) * rank)


def fully_closed(mesh: str | Mesh, rank: int) -> TensorSharding:
    """Every dim closed and without axes: replicated for good."""
    return TensorSharding(mesh, (CLOSED_DIM,) * rank)


def unsharded(mesh: str | Mesh, rank: int, *, is_closed: bool) -> TensorSharding:
    """`fully_closed` or `fully_open`."""
    return TensorSharding(mesh, (DimSharding(is_closed=is_closed),) * rank)


def closed_on(mesh: str | Mesh, axes: Iterable[AxisList], unreduced: AxisList = ()) -> TensorSharding:
    """Every dim closed, cut by the axes given for it, without priority."""
    return TensorSharding(mesh, tuple(DimSharding(refs) for refs in axes), unreduced=unreduced)


def fully_open_like(sharding: TensorSharding) -> TensorSharding:
    """`fully_open` on the mesh and of the rank of `sharding`."""
    return fully_open(sharding.mesh, sharding.rank)


def fully_closed_like(sharding: TensorSharding) -> TensorSharding:
    """`fully_closed` on the mesh and of the rank of `sharding`."""
    return fully_closed(sharding.mesh, sharding.rank)


def closed_like(sharding: TensorSharding) -> TensorSharding:
    """The sharding with every dim closed, its priority kept. The replicated axes are dropped."""
    dims = tuple(replace(dim, is_closed=True) for dim in sharding.dims)
    return replace(sharding, dims=dims, replicated=())


def open_like(sharding: TensorSharding) -> TensorSharding:
    """The sharding with every dim open, its priority kept."""
    return replace(sharding, dims=tuple(replace(dim, is_closed=False) for dim in sharding.dims))


def with_closed(sharding: TensorSharding, dims: Iterable[int], *, is_closed: bool = True) -> TensorSharding:
    """The sharding with the chosen dims closed, or opened."""
    chosen = frozenset(dims)
    return replace(
        sharding,
        dims=tuple(
            replace(dim, is_closed=is_closed) if index in chosen else dim for index, dim in enumerate(sharding.dims)
        ),
    )


def with_dim(sharding: TensorSharding, index: int, dim: DimSharding) -> TensorSharding:
    """The sharding with one dim replaced."""
    return replace(sharding, dims=(*sharding.dims[:index], dim, *sharding.dims[index + 1 :]))


def shard_dim_further(dim: DimSharding, axis: str) -> DimSharding:
    """The open dim cut by one more full axis, at the minor end. Its priority is dropped."""
    assert not dim.is_closed
    return DimSharding((*dim.axes, AxisRef(axis)), is_closed=False)


def shard_further(sharding: TensorSharding, index: int, axis: str) -> TensorSharding:
    """The sharding with one open dim cut by one more full axis."""
    assert can_shard(sharding, index, axis)
    return with_dim(sharding, index, shard_dim_further(sharding.dims[index], axis))


def replicate_further(sharding: TensorSharding, axis: str, mesh: Mesh) -> TensorSharding:
    """The sharding explicitly replicated on one more full axis, put at its place in mesh order."""
    assert can_replicate(sharding, axis)
    refs, ref = sharding.replicated, AxisRef(axis)
    place = bisect_right(refs, mesh_order_key(ref, mesh), key=lambda other: mesh_order_key(other, mesh))
    return replace(sharding, replicated=(*refs[:place], ref, *refs[place:]))


def is_bound(sharding: TensorSharding, axis: str) -> bool:
    """Whether the sharding mentions the axis, in whole or in part."""
    return any(ref.name == axis for ref in sharding.axis_refs())


def can_shard(sharding: TensorSharding, index: int, axis: str) -> bool:
    """Whether dim `index` may be cut by the full axis: it is open and the axis is free."""
    return not sharding.dims[index].is_closed and not is_bound(sharding, axis)


def can_replicate(sharding: TensorSharding, axis: str) -> bool:
    """Whether the tensor may be explicitly replicated on the full axis."""
    return not is_bound(sharding, axis)


def open_except(ranks: Sequence[int], index: int, sharding: TensorSharding) -> tuple[TensorSharding, ...]:
    """One sharding per rank: `sharding` at `index`, fully open ones on its mesh elsewhere."""
    opened = tuple(fully_open(sharding.mesh, rank) for rank in ranks)
    return (*opened[:index], sharding, *opened[index + 1 :])


def replaced_at(
    shardings: tuple[TensorSharding, ...], index: int, sharding: TensorSharding
) -> tuple[TensorSharding, ...]:
    """The list with one element replaced."""
    return (*shardings[:index], sharding, *shardings[index + 1 :])
