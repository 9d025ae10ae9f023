"""What each device holds of the results of a program: the table of `sdy-run --devices-table`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.shards import shard
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.report.run_trace import digest
from sdy.report.tables import simple_table

MOST_SHOWN = 8  # elements that are written out; of more, a digest


@dataclass(frozen=True, slots=True)
class ShardedResult:
    """A whole result, and how it lies on the devices of a mesh."""

    array: Array
    sharding: TensorSharding
    mesh: Mesh


def devices_table(mesh: Mesh, results: Sequence[ShardedResult]) -> Table:
    """One row a device of `mesh`: its coordinates, and of each result the slice and the elements that it holds."""
    shares = [_shares(result) for result in results]
    coordinates = {device: _coordinates(mesh, position) for position, device in enumerate(mesh.devices())}
    rows = ((str(device), coordinates[device], *(share[device] for share in shares)) for device in sorted(coordinates))
    columns = ("device", "coordinates", *(f"result {index}" for index in range(len(results))))
    return simple_table("devices", columns, rows, right=(0,))


def _coordinates(mesh: Mesh, position: int) -> str:
    found: list[str] = []
    for axis in reversed(mesh.axes):
        position, coordinate = divmod(position, axis.size)
        found.append(f"{axis.name}={coordinate}")
    return " ".join(reversed(found))


def _shares(result: ShardedResult) -> list[str]:
    """What each device holds of one result, by device number, without padding."""
    shards = shard(result.array, result.sharding, result.mesh)
    pieces = [shard_coordinates(dim.axes, result.mesh) for dim in result.sharding.dims]
    return [
        _share(shards.device_view(device), [coordinates[device] for coordinates in pieces], result.array.shape)
        for device in range(result.mesh.device_count)
    ]


def _share(held: Array, pieces: Sequence[int], whole: tuple[int, ...]) -> str:
    bounds = [
        (min(piece * local, size), min((piece + 1) * local, size))
        for piece, local, size in zip(pieces, held.shape, whole, strict=False)
    ]
    own = held[tuple(slice(stop - start) for start, stop in bounds)]
    place = f"[{', '.join(f'{start}:{stop}' for start, stop in bounds)}] " if bounds else ""
    return place + (str(own.tolist()) if own.size <= MOST_SHOWN else digest(own))
