"""Time copies, products, fusions and collectives on the JAX devices at hand, for `sdy calibrate`.

    python tests/benchmarks/time_devices.py times.csv
    sdy calibrate times.csv --on h100 --output mine.toml

It needs JAX alone. With XLA_FLAGS=--xla_force_host_platform_device_count=8, it times collectives on a CPU.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

ROUNDS = 5
SMALLEST = 1 << 12  # bytes of the smallest array
STEP = 8  # by what sizes grow
COLUMNS = ("machine", "devices", "collective", "bytes", "op", "m", "n", "k", "dtype", "operand_bytes", "seconds")
DEFAULTS = {"machine": jax.devices()[0].device_kind, "dtype": "float32"}
Cells = dict[str, object]
# Ops on whole arrays; the compiler fuses each into one kernel. The names are those of BabelStream.
_OPS: dict[str, tuple[int, Callable[..., jax.Array]]] = {
    "copy": (1, lambda a: a + 1),  # a program cannot copy without an op: one that reads and writes as much
    "add": (2, lambda a, b: a + b),
    "triad": (2, lambda a, b: a + 3 * b),
    "dot": (2, lambda a, b: (a * b).sum()),
}


def main(arguments: Sequence[str]) -> int:
    """Write the times to a CSV."""
    parser = ArgumentParser(prog="time_devices", description=__doc__)
    parser.add_argument("output", type=Path, help="the CSV to write")
    parser.add_argument("--most-bytes", type=int, default=1 << 28, help="of the largest array (default: 256 MiB)")
    chosen = parser.parse_args(arguments)
    with chosen.output.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        for cells in measurements(chosen.most_bytes):
            writer.writerow([cells.get(column, DEFAULTS.get(column, "")) for column in COLUMNS])
    return 0


def measurements(most_bytes: int) -> Iterator[Cells]:
    """Yield the cells of the measurements: ops and products on one device, then collectives of all of them."""
    sizes = [SMALLEST]
    while sizes[-1] * STEP <= most_bytes:
        sizes.append(sizes[-1] * STEP)
    for size in sizes:
        for op, (count, function) in _OPS.items():
            arrays = [np.ones(size // 4, np.float32)] * count
            yield {"op": op, "operand_bytes": size, "seconds": seconds_of(jax.jit(function), *arrays)}
        side = int((size // 4) ** 0.5)
        matrix = np.ones((side, side), np.float32)
        yield {
            "op": "matmul",
            "m": side,
            "n": side,
            "k": side,
            "seconds": seconds_of(jax.jit(jnp.matmul), matrix, matrix),
        }
    if jax.device_count() > 1:
        for size in sizes:
            yield from _collectives(size)


def _collectives(size: int) -> Iterator[Cells]:
    """Yield the measurements of the collectives whose larger operand or result has `size` bytes on a device."""
    count = jax.device_count()
    mesh = jax.make_mesh((count,), ("x",), axis_types=(AxisType.Auto,))
    elements = max(size // 4 // count, 1) * count
    whole, parts = PartitionSpec(), PartitionSpec("x")
    kinds = {
        "all_reduce": (partial(jax.lax.psum, axis_name="x"), whole, whole),
        "all_gather": (partial(jax.lax.all_gather, axis_name="x", tiled=True), parts, whole),
        "reduce_scatter": (partial(jax.lax.psum_scatter, axis_name="x", tiled=True), whole, parts),
        "all_to_all": (
            partial(jax.lax.all_to_all, axis_name="x", split_axis=0, concat_axis=0, tiled=True),
            whole,
            parts,
        ),
    }
    for name, (function, before, after) in kinds.items():
        run = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=before, out_specs=after, check_vma=False))
        array = jax.device_put(np.ones(elements, np.float32), NamedSharding(mesh, before))
        yield {"collective": name, "devices": count, "bytes": 4 * elements, "seconds": seconds_of(run, array)}


def seconds_of(function: Callable[..., jax.Array], *arrays: object) -> float:
    """Return the median of the seconds of a few runs, after one that compiles."""
    placed = [jax.device_put(each) if isinstance(each, np.ndarray) else each for each in arrays]
    jax.block_until_ready(function(*placed))
    times: list[float] = []
    for _ in range(ROUNDS):
        begun = perf_counter()
        jax.block_until_ready(function(*placed))
        times.append(perf_counter() - begun)
    return median(times)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
