"""Bytes and times of four collectives: by the cost model, on simulated devices, and on JAX devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import NamedTuple, cast

import jax
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from support.timing.medians import table

import sdy
from sdy.cost.collectives import CollectiveKind, bytes_sent

SHAPE = (1024, 1024)  # the local shape for sums, the global shape otherwise
BYTES = 4 * 1024 * 1024
DEVICES = 8
ROUNDS = 7


class Case(NamedTuple):
    """A JAX collective on shards of a matrix, the PartitionSpec of its result, and the bytes of a local result."""

    kind: CollectiveKind
    body: Callable[[jax.Array], jax.Array]
    out: P
    result_bytes: int


CASES = (
    Case(CollectiveKind.ALL_GATHER, partial(lax.all_gather, axis_name="x", tiled=True), P("x"), BYTES),
    Case(CollectiveKind.ALL_REDUCE, partial(lax.psum, axis_name="x"), P(), BYTES),
    Case(CollectiveKind.REDUCE_SCATTER, partial(lax.psum_scatter, axis_name="x", tiled=True), P("x"), BYTES // DEVICES),
    Case(
        CollectiveKind.ALL_TO_ALL,
        partial(lax.all_to_all, axis_name="x", split_axis=1, concat_axis=0, tiled=True),
        P(None, "x"),
        BYTES // DEVICES,
    ),
)


def _seconds(task: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return median(times)


@pytest.mark.benchmark
def test_four_collectives_send_the_bytes_of_the_cost_model() -> None:
    mesh = jax.make_mesh((DEVICES,), ("x",), axis_types=(AxisType.Auto,))
    rows: list[tuple[object, ...]] = []
    for case in CASES:
        is_sum = case.kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        array = np.ones((SHAPE[0] * (DEVICES if is_sum else 1), SHAPE[1]), np.float32)
        sharded = jax.device_put(array, NamedSharding(mesh, P("x")))
        mapped = jax.shard_map(case.body, mesh=mesh, in_specs=P("x"), out_specs=case.out)
        partitioned = sdy.from_jax(mapped, sharded).partition()
        (used,) = partitioned.cost("tpu_v5e").collectives
        assert (used.kind, used.bytes_sent) == (case.kind, bytes_sent(case.kind, DEVICES, case.result_bytes))

        on_jax = cast(Callable[[jax.Array], jax.Array], jax.jit(partitioned.to_jax()))
        simulated = _seconds(partial(partitioned.run, array))
        real = _seconds(lambda: on_jax(sharded).block_until_ready())  # noqa: B023 -- called at once
        times = (f"{used.seconds * 1e6:.0f} µs", f"{simulated * 1e3:.1f} ms", f"{real * 1e3:.1f} ms")
        rows.append((case.kind.value, f"{used.bytes_sent:,.0f}", *times))
    head = ("collective", "bytes sent", "tpu_v5e, by `sdy cost`", "8 simulated devices", "8 devices of JAX on one CPU")
    print(table("4 MiB on 8 devices", head, rows))
