"""Shared fixtures: partitioned transformer programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.jax_programs.shared_models import MODELS


@pytest.fixture(scope="session")
def t32(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two layers of PartIR's transformer, partitioned in seven ways."""
    folder = tmp_path_factory.mktemp("t32")
    subprocess.run([sys.executable, str(MODELS / "gen_t32.py"), str(folder), "2"], check=True, capture_output=True)
    return folder
