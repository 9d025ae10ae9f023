"""Compare the estimated peak memory of a device with the bytes that XLA allocates for the same local program.

XLA compiles the program of `to_jax` for the host's devices. Its own count is that of `memory_analysis`: arguments,
outputs and temporaries, without the outputs that share the memory of donated arguments. The figures are bytes, so they
do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import pytest
from jax.sharding import AxisType, NamedSharding
from support.jax_programs.shared_models import MISSING, STEMS, shared_model
from support.jax_programs.workloads.all import WORKLOADS
from support.timing.medians import table

import sdy
from sdy.cost.memory import peak_bytes

MOST_DIFFERENCE = 0.15  # of what XLA allocates
LEAST_CLOSE = 16  # of the models; docs/costs.md explains the others
LEAST_CLOSE_WORKLOADS = 28  # of 50 functions, most of a few kilobytes


@dataclass(frozen=True)
class _Memory:
    """The bytes of a device: our estimate, and what XLA allocates."""

    ours: int
    xla: int

    @property
    def ratio(self) -> float:
        return self.ours / self.xla

    @property
    def is_close(self) -> bool:
        return abs(self.ratio - 1) <= MOST_DIFFERENCE


def _memory_of(function: Callable[..., Any], arguments: tuple[object, ...]) -> _Memory:
    partitioned = sdy.from_jax(function, *arguments).partition()
    compiled = jax.jit(partitioned.to_jax()).lower(*arguments).compile()
    found = compiled.memory_analysis()
    assert found is not None  # every platform of the tests has it
    allocated = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return _Memory(peak_bytes(partitioned.local), allocated - found.alias_size_in_bytes)


def _close_of(title: str, found: Mapping[str, _Memory]) -> int:
    """Print a table, and return the number of programs whose peak is close to what XLA allocates."""
    rows = [
        (name, f"{each.ours:,}", f"{each.xla:,}", f"{each.ratio:.2f}", "yes" if each.is_close else "no")
        for name, each in found.items()
    ]
    head = ("program", "bytes, ours", "bytes, XLA", "ours / XLA", f"within {MOST_DIFFERENCE:.0%}")
    print(table(f"peak memory of a device, {title}", head, rows))
    return sum(each.is_close for each in found.values())


@pytest.mark.benchmark
@pytest.mark.skipif(not STEMS, reason=MISSING)
def test_the_peak_of_a_model_is_close_to_what_xla_allocates() -> None:
    models = {name: shared_model(name) for name in STEMS}
    found = {name: _memory_of(each.function, each.abstract_arguments) for name, each in models.items()}
    assert _close_of("models", found) >= LEAST_CLOSE


@pytest.mark.benchmark
def test_the_peak_of_a_workload_is_close_to_what_xla_allocates() -> None:
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def placed(argument: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        sharding = argument.sharding
        assert isinstance(sharding, NamedSharding)
        return jax.ShapeDtypeStruct(argument.shape, argument.dtype, sharding=NamedSharding(mesh, sharding.spec))

    found = {name: _memory_of(each.function, tuple(map(placed, each.arguments))) for name, each in WORKLOADS.items()}
    assert _close_of("workloads", found) >= LEAST_CLOSE_WORKLOADS
