"""The tables and traces of `sdy-run`: the shards of the results on each device, and one line per executed op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.text.ssa_names import name_values
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.shards import shard
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
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
    positions = {device: position for position, device in enumerate(mesh.listed_devices())}
    rows = (
        (str(device), _coordinates(mesh, position), *(texts[position] for texts in columns_of_results))
        for device, position in sorted(positions.items())
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
    """Return the text of the shard of a result at each position of the mesh, without padding."""
    mesh = Mesh(result.mesh.axes)
    shards = shard(result.array, result.sharding, mesh)
    coordinates = [shard_coordinates(dim.axes, mesh) for dim in result.sharding.dims]
    return [
        _shard_text(shards.device_view(position), [of_dim[position] for of_dim in coordinates], result.array.shape)
        for position in range(mesh.device_count)
    ]


def _shard_text(held: Array, coordinates: Sequence[int], global_shape: tuple[int, ...]) -> str:
    bounds = [
        (min(coordinate * local_size, size), min((coordinate + 1) * local_size, size))
        for coordinate, local_size, size in zip(coordinates, held.shape, global_shape, strict=False)
    ]
    elements = held[tuple(slice(stop - start) for start, stop in bounds)]
    location = f"[{', '.join(f'{start}:{stop}' for start, stop in bounds)}] " if bounds else ""
    return location + (str(elements.tolist()) if elements.size <= MAX_ELEMENTS_SHOWN else digest(elements))


class RunTrace:
    """Writes a line such as `file:line: %2 = stablehlo.add tensor<4xf32> 1f3a9c20` for each op.

    Values have the names that MLIR prints. Equal values have equal digests. If several devices run the op, the type is
    the local type, and the digest covers all devices. Ops in the bodies of reductions are omitted.
    """

    def __init__(self, module: ModuleOp, write: Callable[[str], None]) -> None:
        self._names = name_values(module, unique=False)
        self._write = write

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Write the line of an op."""
        if context.grid is None:
            return
        span = span_of(op)
        location = f"{span.file}:{span.line}: " if span else ""
        head = f"{self._names.results(op)} = {op.name}" if op.results else op.name
        types = [result.type for result in op.results]
        # A tuple or a future is represented by one array per element.
        shown = [None] * len(results) if len(types) != len(results) else types
        values = [_value(context, array, kind) for array, kind in zip(results, shown, strict=True)]
        devices = f" on {context.grid.position_count} devices" if context.batch else ""
        self._write(" ".join([f"{location}{head}", ", ".join(values)]).rstrip() + devices + "\n")


def digest(array: Array) -> str:
    """Return eight hexadecimal digits that depend on the bytes of an array."""
    return blake2b(array.tobytes(), digest_size=4).hexdigest()


def _value(context: KernelContext, array: Array, kind: Attribute | None) -> str:
    tensor = None if kind is None else as_tensor(kind)
    if tensor is None:
        return digest(array)
    return f"{TensorType(tensor.element_type, context.local(array), tensor.encoding)} {digest(array)}"
