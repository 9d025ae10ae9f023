"""Small programs, one per local form of an op: they have the same results on all devices as on one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "local_forms").glob("*.mlir"))
MESH = '<["x"=2, "y"=2]>'
MESHES = {"in_order": MESH, "out_of_order": '<["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>'}


def load_on(path: Path, mesh: str) -> Program:
    """Return the program with another mesh."""
    text = path.read_text(encoding="utf-8")
    assert MESH in text
    return Program.from_text(text.replace(MESH, mesh), path.name)


@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_partitioned_program_computes_the_same(path: Path, mesh: str) -> None:
    program = load_on(path, mesh)
    outcomes = program.verify(*random_inputs(program.module, seed=3))
    assert outcomes
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []


@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_nested_manual_computations_are_inlined_inside_out(mesh: str) -> None:
    program = load_on(HERE / "nested_manual_computations.mlir", mesh)
    (array,) = random_inputs(program.module, seed=3)
    outcomes = program.verify(array, expected=[np.tanh(array.astype(np.float32)), array])
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []
