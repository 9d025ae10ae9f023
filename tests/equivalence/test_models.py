"""The shared models, if they exist, compute the stored results of JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdy.evidence.runs.arrays import load_arrays
from sdy.evidence.runs.comparison import compare
from sdy.program.load import load

MODELS = sorted((Path(__file__).parents[3] / "shared" / "models").glob("*.mlir"))


@pytest.mark.skipif(not MODELS, reason="the shared models are not beside the repository")
@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_partitioned_outputs_are_those_of_jax(path: Path) -> None:
    stored = load_arrays(str(path.with_suffix(".npz")))
    assert stored.outputs
    outcomes = load(path).verify(*stored.inputs, expected=stored.outputs)
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []


@pytest.mark.skipif(not MODELS, reason="the shared models are not beside the repository")
@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_unpartitioned_outputs_are_those_of_jax(path: Path) -> None:
    stored = load_arrays(str(path.with_suffix(".npz")))
    found = load(path).run_flat(stored.inputs)
    outcomes = [compare(index, *pair) for index, pair in enumerate(zip(found, stored.outputs, strict=True))]
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []
