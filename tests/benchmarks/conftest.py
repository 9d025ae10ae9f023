"""The input programs of the benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GENERATOR = Path(__file__).parents[3] / "shared" / "models" / "gen_large.py"


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return files of an unrolled transformer with gradients, by the number of layers."""
    if not GENERATOR.exists():
        pytest.skip("the generator of large programs, shared/models/gen_large.py, does not exist")
    folder = tmp_path_factory.mktemp("llama")
    layers = (2, 32, 128)
    command = [sys.executable, str(GENERATOR), str(folder), *map(str, layers)]
    # The generator asks JAX for as many devices as it needs; the flags of these tests would override it.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return {count: folder / f"llama{count}.mlir" for count in layers}
