"""The table of `sdy-run --devices-table`: the shards of the results on each device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.shards import shard
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.report.run_trace import digest
from sdy.report.tables.fitted_table import FittedTable, fitted_table

MAX_ELEMENTS_SHOWN = 8  # larger shards are shown as a digest


@dataclass(frozen=True, slots=True)
class ShardedResult:
    """A result with its global shape, and its sharding on a mesh."""

    array: Array
    sharding: TensorSharding
    mesh: Mesh


def devices_table(mesh: Mesh, results: Sequence[ShardedResult]) -> FittedTable:
    """Return a table with one row per device: its coordinates, and the slice and elements of each result."""
    columns_of_results = [_shard_texts(result) for result in results]
    coordinates = {device: _coordinates(mesh, position) for position, device in enumerate(mesh.listed_devices())}
    rows = (
        (str(device), coordinates[device], *(texts[device] for texts in columns_of_results))
        for device in sorted(coordinates)
    )
    columns = ("device", "coordinates", *(f"result {index}" for index in range(len(results))))
    return fitted_table("devices", columns, rows, right=(0,))


def _coordinates(mesh: Mesh, position: int) -> str:
    found: list[str] = []
    for axis in reversed(mesh.axes):
        position, coordinate = divmod(position, axis.size)
        found.append(f"{axis.name}={coordinate}")
    return " ".join(reversed(found))


def _shard_texts(result: ShardedResult) -> list[str]:
    """Return the text of the shard of a result on each device, by device number, without padding."""
    shards = shard(result.array, result.sharding, result.mesh)
    coordinates = [shard_coordinates(dim.axes, result.mesh) for dim in result.sharding.dims]
    return [
        _shard_text(shards.device_view(device), [of_dim[device] for of_dim in coordinates], result.array.shape)
        for device in range(result.mesh.device_count)
    ]


def _shard_text(held: Array, coordinates: Sequence[int], global_shape: tuple[int, ...]) -> str:
    bounds = [
        (min(coordinate * local_size, size), min((coordinate + 1) * local_size, size))
        for coordinate, local_size, size in zip(coordinates, held.shape, global_shape, strict=False)
    ]
    elements = held[tuple(slice(stop - start) for start, stop in bounds)]
    location = f"[{', '.join(f'{start}:{stop}' for start, stop in bounds)}] " if bounds else ""
    return location + (str(elements.tolist()) if elements.size <= MAX_ELEMENTS_SHOWN else digest(elements))
