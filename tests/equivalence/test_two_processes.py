"""Local programs run on JAX devices of two processes with four devices each, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.examples import EXAMPLES
from support.host_name import needs_host_name

TESTS = Path(__file__).parents[1]
FILES = [str(path) for path in EXAMPLES if path.stem in ("constraint_transpose", "matmul_case3", "mlp_dp4_tp2")]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.jax
@needs_host_name
def test_results_on_two_processes_are_those_of_jax() -> None:
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "PYTHONPATH": path}
    command = [sys.executable, "-m", "support.jax_programs.two_processes", str(free_port())]
    processes = [
        subprocess.Popen(
            [*command, str(number), *FILES],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        for process in processes:
            output, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
            assert [line for line in output.splitlines() if line.startswith("agrees")] == [
                f"agrees {file}" for file in (*FILES, "sdy.jit", "sdy.mpmd")
            ]
    finally:
        for process in processes:
            process.kill()  # does nothing to one that has ended
