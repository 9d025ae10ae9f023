"""Compare propagation with Shardy on the example programs, and on the shared models if they exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES
from support.oracle.comparison import Verdict, compare
from support.oracle.jaxlib_mlir import run_pipeline
from support.oracle.process import OracleProcess

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.manager.option_types import PassRequest
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.run import run_passes

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
PASSES = [
    "sdy-basic-propagate",
    "sdy-aggressive-propagate",
    "sdy-op-priority-propagate",
    "sdy-user-priority-propagate",
    "sdy-propagation-pipeline",
]


def check(oracle: OracleProcess, path: Path, name: str = "sdy-propagation-pipeline") -> None:
    found = compare(oracle, path.read_text(), f"builtin.module({name})")
    assert found.verdict is Verdict.SAME, found.details


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_every_value_is_sharded_as_shardy_shards_it(oracle: OracleProcess, path: Path, name: str) -> None:
    check(oracle, path, name)


@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_reshards_and_collectives_are_those_of_shardy(path: Path) -> None:
    text = run_pipeline(path.read_text(), "sdy-propagation-pipeline")
    pipeline = (
        "func.func(sdy-insert-explicit-reshards{enable-full-version=true}),"
        "canonicalize{enable-patterns=sdy-reshard},func.func(sdy-reshard-to-collectives)"
    )
    module = parse_module(text, str(path))
    requests = [
        PassRequest("sdy-insert-explicit-reshards", {"enable-full-version": "true"}),
        PassRequest("canonicalize", {"enable-patterns": "sdy-reshard"}),
        PassRequest("sdy-reshard-to-collectives", {}),
    ]
    run_passes(make_context(), module, [build_pass(request) for request in requests])
    assert print_module(module).strip() == run_pipeline(text, pipeline).strip()


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.mlir")), ids=lambda path: path.stem)
def test_models_are_sharded_as_shardy_shards_them(oracle: OracleProcess, path: Path) -> None:
    check(oracle, path)


@pytest.mark.slow
def test_large_model_is_sharded_as_shardy_shards_it(oracle: OracleProcess, tmp_path: Path) -> None:
    generator = MODELS / "gen_large.py"
    if not generator.exists():
        pytest.skip(f"{generator} is not there")
    subprocess.run([sys.executable, str(generator), str(tmp_path), "2"], check=True)
    (path,) = tmp_path.glob("*.mlir")
    check(oracle, path)
