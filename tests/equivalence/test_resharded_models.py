"""The shared models, with random input shardings, compute the stored results of JAX on all devices."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from support.random_programs.annotations import Annotations, Habits, RandomMesh
from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_argument_sharding
from sdy.evidence.runs.arrays import StoredArrays, load_arrays
from sdy.grammar.parse import parse_sharding
from sdy.program.load import load
from sdy.program.program import Program

MODELS = sorted((Path(__file__).parents[3] / "shared" / "models").glob("*.mlir"))
HABITS = Habits(unreduced=0)

pytestmark = [
    pytest.mark.skipif(not MODELS, reason="the shared models are not beside the repository"),
    pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS]),
]


@cache
def _model(path: Path) -> tuple[ModuleOp, StoredArrays]:
    """Return a model as JAX lowered it, and its stored inputs and outputs."""
    return load(path).module, load_arrays(str(path.with_suffix(".npz")))


def _resharded(path: Path, seed: int) -> tuple[Program, list[str]]:
    """Return the model with random shardings of its inputs, and the shardings."""
    module = _model(path)[0].clone()
    name, mesh = next((name, mesh) for name, mesh in meshes_of(module).items() if mesh.axes)
    source = random.Random(f"{path.stem} {seed}")
    annotations = Annotations(source, HABITS, max_devices=mesh.device_count, one_mesh=True)
    annotations.meshes = [RandomMesh(name, {axis.name: axis.size for axis in mesh.axes})]
    func = main_function(module)
    drawn: list[str] = []
    for index, argument in enumerate(func.args):
        drawn.append(annotations.sharding(static_shape(argument.type) or (), unreduced=False))
        set_argument_sharding(func, index, parse_sharding(drawn[-1]))
    return Program.from_module(module), drawn


def _problems(path: Path, seed: int) -> list[object]:
    program, drawn = _resharded(path, seed)
    stored = _model(path)[1]
    found = [
        outcome.problem for outcome in program.verify(*stored.inputs, expected=stored.outputs) if not outcome.agrees
    ]
    return [seed, drawn, found] if found else []


def test_random_input_shardings_do_not_change_results(path: Path) -> None:
    assert _problems(path, seed=0) == []


@pytest.mark.slow
@pytest.mark.parametrize("share", range(10))
def test_hundreds_of_input_shardings_do_not_change_results(path: Path, share: int) -> None:
    """Check two hundred shardings per model."""
    assert [found for seed in range(100 + share, 300, 10) if (found := _problems(path, seed))] == []
