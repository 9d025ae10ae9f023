"""The example programs, partitioned and on all devices, compute the stored results of JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES
from support.oracle.jaxlib_mlir import generic_text

from sdy.dialects.module_text import print_module
from sdy.evidence.runs.arrays import load_arrays, random_inputs
from sdy.program.load import load


@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_partitioned_outputs_are_those_of_jax(path: Path) -> None:
    stored = load_arrays(str(path.with_suffix(".npz")))
    assert stored.outputs
    for actual, expected in zip(load(path).partition().run(*stored.inputs), stored.outputs, strict=True):
        assert actual.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_partitioned_outputs_are_those_of_one_device(path: Path) -> None:
    program = load(path)
    outcomes = program.verify(*random_inputs(program.module, seed=7))
    assert outcomes
    assert all(outcome.agrees for outcome in outcomes)


@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_local_programs_are_valid_for_mlir(path: Path) -> None:
    local = print_module(load(path).partition().local)
    assert '"builtin.module"' in generic_text(local)
    assert "sdy." not in local
