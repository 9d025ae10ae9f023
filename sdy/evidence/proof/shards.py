"""The relations of arguments, which are shards, and the values that the devices give to calls with side effects."""

from __future__ import annotations

from functools import lru_cache

from sdy.evidence.proof.offsets import Offset, offset
from sdy.evidence.proof.relations import Digit, Digits, NotProvedError, Partial, View
from sdy.evidence.proof.terms import Shape, TermTable
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind

KINDS = {ReductionKind.SUM: "add", ReductionKind.MAX: "maximum", ReductionKind.MIN: "minimum"}


@lru_cache(maxsize=4096)
def starts(axes: AxisList, mesh: Mesh, extent: int) -> Offset:
    """Return the first element of each device's shard of a dim, for shards of `extent` elements."""
    return offset(tuple(each * extent for each in shard_coordinates(axes, mesh))) if axes else 0


def bases(placement: TensorPlacement, local: Shape, devices: int) -> tuple[Offset, ...]:
    """Return the first element of each device's shard, per dim.

    Raises: NotProvedError if the shard has another shape than the sharding says.
    """
    mesh, sharding = placement.mesh, placement.sharding
    if not mesh.axes:
        return (0,) * len(local)
    if mesh.device_count != devices:
        raise NotProvedError("a value on a mesh of its own")
    found: list[Offset] = []
    for size, extent, dim in zip(placement.shape, local, sharding.dims, strict=True):
        count = sharded_size(dim.axes, mesh)
        if -(-size // count) != extent:
            raise NotProvedError(f"expected shards of {-(-size // count)} elements, got {extent}")
        found.append(starts(dim.axes, mesh, extent))
    return tuple(found)


def contributions_of(placement: TensorPlacement) -> Partial | None:
    """Return the contributions of devices to an unreduced tensor."""
    axes, mesh = placement.sharding.unreduced, placement.mesh
    if not axes:
        return None
    coordinates = shard_coordinates(axes, mesh)
    masks = tuple(1 << each for each in coordinates)
    return Partial(KINDS[placement.sharding.unreduced_kind], masks, (1 << (max(coordinates) + 1)) - 1)


def argument(
    number: int, placement: TensorPlacement, local: Shape, element: str, devices: int, table: TermTable
) -> View:
    """Return the relation of a local argument to the global one. Raises: NotProvedError as `bases`."""
    tables = bases(placement, local, devices)
    if 0 in placement.shape:
        raise NotProvedError("a value without elements")
    kept = [dim for dim, size in enumerate(placement.shape) if size > 1]
    term = table.make("argument", number, (), tuple(placement.shape[dim] for dim in kept), element)
    dims: list[Digits] = []
    for dim, extent in enumerate(local):
        dims.append((Digit(extent, kept.index(dim), 1),) if dim in kept else ())
    return View(term, tuple(tables[dim] for dim in kept), tuple(dims), contributions_of(placement))
