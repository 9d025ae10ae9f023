"""Random programs on several meshes compute, at each stage of their compilation, what they do without names."""

from __future__ import annotations

import pytest
from support.random_programs.mpmd import MpmdProgram, pipeline, program_of_names

import sdy
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.evidence.pipelines import verify_pipeline
from sdy.mpmd.execution.without_meshes import without_meshes
from sdy.passes.manager.pass_options import passes_of
from sdy.passes.run import run_passes

LATER = ("mpmd-optimize-pipeline", "mpmd-sharding-propagation-pipeline", "mpmd-export-pipeline")
OPTIONS = {"mpmd-export-pipeline": "{fail-on-inferred-fragments=false}"}


def import_pipeline(program: MpmdProgram) -> str:
    places = (
        f"{name}@{place}" if isinstance(place, str) else f"{name}@{place[0]}/{place[1]}"
        for name, place in program.assignment.items()
    )
    return f"mpmd-import-pipeline{{name-to-mesh-assignment={','.join(places)} infer-transfers=true}}"


def check(seed: int) -> None:
    program = (program_of_names if seed % 2 else pipeline)(seed)
    module = parse_module(program.text, "random.mlir")
    original = without_meshes(module)
    run_passes(make_context(), module, passes_of(f"builtin.module({import_pipeline(program)})"))
    for name in ("", *LATER):
        if name:
            run_passes(make_context(), module, passes_of(f"builtin.module({name}{OPTIONS.get(name, '')})"))
        compiled = sdy.mpmd.Pipeline.from_text(print_module(module)).partition()
        assert verify_pipeline(compiled, original=original).agrees, name


@pytest.mark.parametrize("seed", [0, 1, 2, 905])
def test_values_of_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 404, 20))
def test_values_of_many_random_programs(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
