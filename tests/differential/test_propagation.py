"""Propagation against real Shardy, on the programs that ship with the package."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.oracle import run_pipeline
from support.programs import EXAMPLE_NAMES, EXAMPLES

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.pass_options import PassRequest, build_pass
from sdy.passes.run import run_passes

PASSES = [
    "sdy-basic-propagate",
    "sdy-aggressive-propagate",
    "sdy-op-priority-propagate",
    "sdy-user-priority-propagate",
    "sdy-propagation-pipeline",
]


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_every_value_is_sharded_as_shardy_shards_it(path: Path, name: str) -> None:
    text = path.read_text()
    module = parse_module(text, str(path))
    run_passes(make_context(), module, [build_pass(PassRequest(name, {}))])
    assert print_module(module).strip() == run_pipeline(text, name).strip()


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
