# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Write `shard_map` programs as JAX lowers them, and their results on 8 CPU devices: `python ... FOLDER`.

It runs in a separate process because the number of devices is fixed when JAX is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

Body = Callable[..., Any]

MESH_SIZES = {"x": 4, "y": 2}
RING = [(device, (device + 1) % 4) for device in range(4)]


def nested(x: Any) -> Any:
    """Apply a `shard_map` along y inside one along x."""
    inner = jax.shard_map(
        lambda z: lax.psum(z, "y") + lax.axis_index("x"), in_specs=P("y"), out_specs=P(), axis_names={"y"}
    )
    return inner(x) * 2


def branch(x: Any) -> Any:
    """Take different branches on different devices."""
    return lax.cond(lax.axis_index("x") % 2 == 0, lambda z: z + 1, lambda z: z * lax.axis_index("y"), x)


def ring_sum(x: Any) -> Any:
    """Compute a sum around a ring of devices."""
    return lax.fori_loop(0, 3, lambda _, z: x + lax.ppermute(z, "x", RING), x)


# name: what each device runs, the sharding of the argument, that of the result
PROGRAMS: dict[str, tuple[Body, P, P]] = {
    "all_gather_tiled": (partial(lax.all_gather, axis_name="x", tiled=True), P("x", "y"), P(None, "y")),
    "all_gather_stacked": (partial(lax.all_gather, axis_name="x"), P("x", "y"), P(None, "x", "y")),
    "all_gather_stacked_inside": (partial(lax.all_gather, axis_name="y", axis=1), P("x", "y"), P("x", None, "y")),
    "all_gather_two_axes": (partial(lax.all_gather, axis_name=("y", "x"), tiled=True), P(("y", "x")), P()),
    "psum": (partial(lax.psum, axis_name="x"), P("x", "y"), P(None, "y")),
    "psum_two_axes": (partial(lax.psum, axis_name=("x", "y")), P("x", "y"), P()),
    "psum_groups": (partial(lax.psum, axis_name="x", axis_index_groups=[[0, 2], [1, 3]]), P("x", "y"), P("x", "y")),
    "pmax": (partial(lax.pmax, axis_name="x"), P("x", "y"), P(None, "y")),
    "pmin": (partial(lax.pmin, axis_name="y"), P("x", "y"), P("x")),
    "pmean": (partial(lax.pmean, axis_name="x"), P("x", "y"), P(None, "y")),
    "psum_scatter_tiled": (partial(lax.psum_scatter, axis_name="x", tiled=True), P(None, "y"), P("x", "y")),
    "psum_scatter_stacked": (
        lambda x: lax.psum_scatter(x.reshape(4, -1), "x"),
        P("y"),
        P(("y", "x")),
    ),
    "all_to_all_tiled": (
        lambda x: lax.all_to_all(x, "x", split_axis=1, concat_axis=0, tiled=True),
        P("x", "y"),
        P(None, ("y", "x")),
    ),
    "all_to_all_stacked": (
        lambda x: lax.all_to_all(x.reshape(4, -1), "x", split_axis=0, concat_axis=1),
        P(None, "y"),
        P("x", "y"),
    ),
    "ppermute_ring": (partial(lax.ppermute, axis_name="x", perm=RING), P("x", "y"), P("x", "y")),
    "ppermute_partial": (partial(lax.ppermute, axis_name="x", perm=[(0, 2), (3, 1)]), P("x", "y"), P("x", "y")),
    "axis_index": (lambda x: x + 10 * lax.axis_index("x") + lax.axis_index("y"), P("x", "y"), P("x", "y")),
    "first_wins": (lambda x: x * 0 + lax.axis_index("x"), P(None, "y"), P(None, "y")),
    "ring_sum": (ring_sum, P("x", "y"), P("x", "y")),
    "branch": (branch, P("x", "y"), P("x", "y")),
}


def main(folder: Path) -> None:
    """Write one `.mlir` and one `.npz` file per program."""
    mesh = jax.make_mesh(tuple(MESH_SIZES.values()), tuple(MESH_SIZES), axis_types=(AxisType.Auto,) * 2)
    random = np.random.default_rng(0)
    for name, (body, into, out_of) in PROGRAMS.items():
        _write(folder, name, jax.shard_map(body, mesh=mesh, in_specs=into, out_specs=out_of, check_vma=False), random)
    both = jax.shard_map(nested, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)
    with jax.set_mesh(mesh):
        _write(folder, "nested", both, random)


def _write(folder: Path, name: str, function: Body, random: np.random.Generator) -> None:
    dtype = np.float32 if name == "pmean" else np.int32
    argument = random.integers(-50, 50, (8, 16)).astype(dtype)
    jitted = jax.jit(function)
    (folder / f"{name}.mlir").write_text(jitted.lower(argument).as_text())
    np.savez(folder / f"{name}.npz", arg0=argument, out0=np.asarray(jitted(argument)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
