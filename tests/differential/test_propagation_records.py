"""Compare the recorded origins of axes with those of Shardy."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES
from support.oracle.jaxlib_mlir import run_pipeline
from support.oracle.known_differences import IS_NEWER, known_difference, without_empty_records
from support.random_programs.live_annotated import RandomProgram

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.manager.pass_options import build_pass, parse_pipeline
from sdy.passes.run import run_passes

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
# No loops: Shardy names the second source of their edges as an operand that they do not have, and rejects its own text.
NAMES = ["constraint_transpose", "decode_kv_cache", "transformer_megatron", "shard_map_all_gather_tiled", "cnn"]
PASSES = ["sdy-basic-propagate", "sdy-aggressive-propagate", "sdy-op-priority-propagate", "sdy-user-priority-propagate"]
BOTH = "debug-sharding-origins=true debug-propagation-edge-sharding=true"
TEXTS = [RandomProgram(seed).text() for seed in range(40)]
SINK = "sink-debug-sharding-origins=true sink-debug-propagation-edge-sharding=true"


def pipeline(propagate: str, debug: str = BOTH, sink: str = SINK) -> str:
    return (
        "builtin.module(sdy-lift-inlined-meshes,sdy-constant-or-scalar-splitter,sdy-manual-axes-cleanup,"
        f"sdy-add-data-flow-edges,sdy-apply-sharding-constraints{{{debug}}},{propagate}{{{debug}}},"
        f"func.func(sdy-sink-data-flow-edges{{{sink}}}))"
    )


def check(text: str, passes: str) -> None:
    module = parse_module(text, "program.mlir")
    run_passes(make_context(), module, [build_pass(request) for request in parse_pipeline(passes)])
    expected = run_pipeline(text, passes.removeprefix("builtin.module(").removesuffix(")"))
    assert print_module(module).strip() == (without_empty_records(expected) if IS_NEWER else expected).strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=EXAMPLE_NAMES)
def test_records_of_the_examples(path: Path) -> None:
    check(path.read_text(), pipeline("sdy-user-priority-propagate"))


@pytest.mark.parametrize("name", NAMES)
def test_records_of_larger_programs(name: str) -> None:
    path = MODELS / f"{name}.mlir"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    check(path.read_text(), pipeline("sdy-user-priority-propagate"))


def test_origins_of_a_program_with_a_loop() -> None:
    path = MODELS / "transformer_scan_fsdp.mlir"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    only_origins = ("debug-sharding-origins=true", "sink-debug-sharding-origins=true")
    check(path.read_text(), pipeline("sdy-user-priority-propagate", *only_origins))


@pytest.mark.parametrize("propagate", PASSES)
def test_records_of_random_programs(propagate: str) -> None:
    for text in TEXTS:
        if known_difference(text, error="") is None:
            check(text, pipeline(propagate))


def test_random_programs_cover_ops_and_annotations() -> None:
    texts = [text for text in TEXTS if known_difference(text, error="") is None]
    assert len(texts) >= 0.75 * len(TEXTS)
    for part in ("sdy.sharding_constraint", "sdy.manual_computation", "optimization_barrier", "}p1", '"z":(2)2', "?}"):
        assert any(part in text for text in texts)
