"""Programs as users of JAX write them: partitioned, they compute the same, provably, and send no more than with XLA."""

from __future__ import annotations

import pytest
from support.jax_programs.workloads.all import WORKLOADS

import sdy


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_right_and_proved(name: str) -> None:
    workload = WORKLOADS[name]
    program = sdy.from_jax(workload.function, *workload.arguments)
    assert [each.problem for each in program.verify() if not each.agrees] == []
    assert program.prove().is_proved
    if workload.xla_bytes is not None:
        assert sum(each.bytes_sent for each in program.cost("tpu_v5e").collectives) <= workload.xla_bytes
