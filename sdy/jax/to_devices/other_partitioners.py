"""Partitions a program with XLA or with jaxlib's Shardy, in a process of its own: they may crash or take very long.

    python -m sdy.jax.to_devices.other_partitioners xla FOLDER

The folder holds `program.mlir`, `inputs.npz` (arrays `0`, `1`, ...), and `program.json` with the number of devices, the
dtypes of the inputs, and whether to run the program. XLA compiles it for as many devices of the host, runs it, and
writes `compiled.hlo`, `peak_bytes.txt` and `outputs.npz`; Shardy writes `partitioned.mlir`, with explicit collectives
on global tensors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

numpy: Any = import_module("numpy")
jax: Any = import_module("jax")
client: Any = import_module("jaxlib.xla_client")
import_module("jax.numpy")  # registers the custom calls of LAPACK
import_module("jaxlib.lapack")._lapack.initialize()  # finds their routines, as JAX does when it lowers such a call

SHARDY_PASSES = (
    "sdy-propagation-pipeline",
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true})",
    "canonicalize{enable-patterns=sdy-reshard}",
    "func.func(sdy-reshard-to-collectives)",
)


def main(partitioner: str, folder: Path) -> None:
    """Partition the program in a folder with `xla` or `shardy`."""
    description = json.loads((folder / "program.json").read_text())
    devices = description["devices"]
    text = (folder / "program.mlir").read_text()
    if partitioner == "shardy":
        (folder / "partitioned.mlir").write_text(_partitioned_by_shardy(text))
    else:
        dtypes = description["dtypes"] if description["is_run"] else None
        _compile_with_xla(text, devices, dtypes, folder)


def _partitioned_by_shardy(text: str) -> str:
    ir: Any = import_module("jaxlib.mlir.ir")
    passes: Any = import_module("jaxlib.mlir.passmanager")
    mlir: Any = import_module("jax.interpreters.mlir")
    context = mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        module = ir.Module.parse(text)
        passes.PassManager.parse(f"builtin.module({','.join(SHARDY_PASSES)})").run(module.operation)
        return str(module)


def _compile_with_xla(text: str, count: int, dtypes: Sequence[str] | None, folder: Path) -> None:
    """Compile a program, and run it unless `dtypes`, those of the inputs, is None."""
    devices = jax.devices()[:count]
    options = client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, count
    options.device_assignment = client.DeviceAssignment.create(numpy.arange(count).reshape(1, count))
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_parameters = [True]
    build.allow_spmd_sharding_propagation_to_output = [True]
    compiled = devices[0].client.compile_and_load(text, client.DeviceList(tuple(devices)), options)
    (folder / "compiled.hlo").write_text(compiled.hlo_modules()[0].to_string())
    memory = compiled.get_compiled_memory_stats()
    peak = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    (folder / "peak_bytes.txt").write_text(str(peak - memory.alias_size_in_bytes))
    if dtypes is None:
        return
    with numpy.load(folder / "inputs.npz") as file:
        arrays = [file[str(index)].view(jax.numpy.dtype(name)) for index, name in enumerate(dtypes)]
    outputs = list(_run(compiled, devices, arrays))
    numpy.savez(folder / "outputs.npz", **{str(index): output for index, output in enumerate(outputs)})


def _run(compiled: Any, devices: Sequence[Any], arrays: Sequence[Any]) -> Iterator[Any]:
    """Run the program, and yield its results."""
    on_all = jax.sharding.Mesh(numpy.array(devices), ("device",))
    placed: list[Any] = []
    for array, sharding in zip(arrays, compiled.get_parameter_shardings(), strict=True):
        tiles = _tiles(sharding, array.shape, len(devices))
        shards = [jax.device_put(array[tile], device) for tile, device in zip(tiles, devices, strict=True)]
        # XLA takes the shards of all devices in order, as if they were stacked along the first dim.
        spec = jax.sharding.PartitionSpec(*("device" for _ in array.shape[:1]))
        stacked = (*(size * len(devices) for size in shards[0].shape[:1]), *shards[0].shape[1:])
        sharded = jax.sharding.NamedSharding(on_all, spec)
        placed.append(jax.make_array_from_single_device_arrays(stacked, sharded, shards))
    results = compiled.execute_sharded(placed).disassemble_into_single_device_arrays()
    for shards, sharding in zip(results, compiled.get_output_shardings(), strict=True):
        local = shards[0].shape
        counts = _tile_counts(sharding, len(local))
        whole = numpy.zeros([size * count for size, count in zip(local, counts, strict=True)], shards[0].dtype)
        for tile, shard in zip(_tiles(sharding, whole.shape, len(devices)), shards, strict=True):
            whole[tile] = numpy.asarray(shard)
        yield whole


def _tile_counts(sharding: Any, rank: int) -> list[int]:
    """Return into how many shards each dim is divided."""
    hlo = client.HloSharding.from_proto(sharding)
    return [1] * rank if hlo.is_replicated() else hlo.tile_assignment_dimensions()[:rank]


def _tiles(sharding: Any, shape: Sequence[int], device_count: int) -> list[tuple[slice, ...]]:
    """Return the part of a tensor that each device holds. Raises: ValueError if the shards are not equally large."""
    counts = _tile_counts(sharding, len(shape))
    sizes = [size // count for size, count in zip(shape, counts, strict=True)]
    if any(size * count != whole for size, count, whole in zip(sizes, counts, shape, strict=True)):
        raise ValueError(f"XLA shards a tensor of the shape {tuple(shape)} unequally, {counts}")
    hlo = client.HloSharding.from_proto(sharding)
    if hlo.is_replicated():
        return [(slice(None),) * len(shape)] * device_count
    order = numpy.array(hlo.tile_assignment_devices()).reshape(hlo.tile_assignment_dimensions())
    places = [numpy.argwhere(order == device)[0][: len(shape)] for device in range(device_count)]
    return [
        tuple(slice(index * size, (index + 1) * size) for index, size in zip(place, sizes, strict=True))
        for place in places
    ]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
