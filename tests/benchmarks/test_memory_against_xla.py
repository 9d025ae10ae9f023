"""Compare the estimated peak memory of a device with the bytes that XLA allocates for the same local program.

XLA compiles the program of `to_jax` for the host's devices. Its own count is that of `memory_analysis`: arguments,
outputs and temporaries, without the outputs that share the memory of donated arguments. The figures are bytes, so they
do not depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import pytest
from support.jax_programs.shared_models import MISSING, STEMS, shared_model
from support.timing.medians import table

import sdy
from sdy.cost.memory import peak_bytes

MOST_DIFFERENCE = 0.15  # of what XLA allocates
LEAST_CLOSE = 16  # of the models; docs/costs.md explains the others


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


def _memory_of(name: str) -> _Memory:
    model = shared_model(name)
    partitioned = sdy.from_jax(model.function, *model.abstract_arguments).partition()
    compiled = jax.jit(partitioned.to_jax()).lower(*model.abstract_arguments).compile()
    found = compiled.memory_analysis()
    assert found is not None  # every platform of the tests has it
    allocated = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return _Memory(peak_bytes(partitioned.local), allocated - found.alias_size_in_bytes)


@pytest.mark.benchmark
@pytest.mark.skipif(not STEMS, reason=MISSING)
def test_the_peak_is_close_to_what_xla_allocates() -> None:
    found = {name: _memory_of(name) for name in STEMS}
    rows = [
        (name, f"{each.ours:,}", f"{each.xla:,}", f"{each.ratio:.2f}", "yes" if each.is_close else "no")
        for name, each in found.items()
    ]
    head = ("model", "bytes, ours", "bytes, XLA", "ours / XLA", f"within {MOST_DIFFERENCE:.0%}")
    print(table("peak memory of a device", head, rows))
    assert sum(each.is_close for each in found.values()) >= LEAST_CLOSE
