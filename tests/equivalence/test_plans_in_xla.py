"""XLA compiles programs with and without the annotations of a plan, and computes the same values with both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.jax_programs.shared_models import MISSING, MODELS

import sdy
from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import CollectiveStatistics, Statistics
from sdy.dialects.meshes import meshes_of
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.search.plans.xla_check import XlaCheck, check_xla
from sdy.search.searched_module import without_shardings

pytestmark = pytest.mark.jax

PROGRAM = """
func.func @main(%x: tensor<64x256xf32>, %up: tensor<256x1024xf32>, %down: tensor<1024x256xf32>) -> tensor<64x256xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<64x1024xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0]
      : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}
"""
FIXED = {"%x": "P()", "result[0]": "P()"}
# The arguments that are batches, by number.
BATCHES = {
    "cnn": (2,),
    "constraint_transpose": (0,),
    "decode_kv_cache": (4, 5, 6),
    "dropout_threefry": (1,),
    "matmul_case1": (0,),
    "matmul_case2": (0,),
    "matmul_case3": (0,),
    "matmul_case4": (0,),
    "mlp_dp4_tp2": (8, 9),
    "mlp_dp8": (8, 9),
    "transformer_megatron": (19,),
    "transformer_scan_fsdp": (10,),
    "transformer_sgd_step": (10,),
}


def runs(check: XlaCheck, kind: CollectiveKind) -> list[int]:
    """Return how often a kind of collective runs: before with sdy and XLA, with the plan with sdy and XLA."""
    found: list[int] = []
    for each in (check.before, check.xla_before, check.plan, check.xla_plan):
        assert each.statistics is not None
        of_kind = each.statistics.collectives.get(kind)
        found.append(0 if of_kind is None else of_kind.runs)
    return found


def test_xla_follows_a_plan() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="model=4", fix=FIXED, memory="1.5MB", time_limit=10)
    check = plan.check_xla()
    assert check.agrees is True
    assert check.rules is check.plan  # the plan has no constraints
    assert runs(check, CollectiveKind.ALL_REDUCE) == [0, 0, 1, 1]
    assert check.bytes_ratio is None  # the program without annotations sends nothing
    lines = check.report().splitlines()
    assert any("all-reduce" in line and line.count("1") == 2 for line in lines)
    assert any(line.count("agree") == 4 for line in lines)


def test_large_programs_are_compiled_and_not_run() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="model=4", fix=FIXED, memory="1.5MB", time_limit=10)
    gathered = plan.program.apply(sdy.replicate("result"), sdy.shard("arg0", dim=1, axis="model"))
    check = plan.check_xla(gathered.program, run=False)
    assert runs(check, CollectiveKind.ALL_REDUCE)[2:] == [1, 1]
    assert check.agrees is None
    assert repr(check).startswith("XlaCheck(not run; PartitionerResult(sdy: ")
    data: Any = check.to_json()
    assert [data[name]["outputs"] for name in ("before", "xla_before", "plan", "xla_plan")] == [[]] * 4
    assert data["xla_plan"]["statistics"]["bytes_sent"] > 0
    assert check.bytes_ratio == pytest.approx(2 / 3)  # the baseline gathers %x, too


CONSTRAINT = '%c = sdy.sharding_constraint %0 <@mesh, [{}, {"model"}]> : tensor<64x1024xf32>'


def test_the_shardings_are_compiled_without_the_constraints_too() -> None:
    text = PROGRAM.replace("%1 = stablehlo.tanh %0", f"{CONSTRAINT}\n  %1 = stablehlo.tanh %c")
    constrained = sdy.Program.from_text(f'sdy.mesh @mesh = <["model"=4]>\n{text}')
    plain = sdy.Program.from_text(PROGRAM)
    check = check_xla(plain, plain, constrained, 0, 60, run=False)
    assert [each.statistics and each.statistics.runs for each in (check.xla_rules, check.xla_plan)] == [0, 1]
    assert "rules, XLA" in check.report()


def result(sent: float) -> PartitionerResult:
    kind = CollectiveKind.ALL_REDUCE
    return PartitionerResult("", Statistics({kind: CollectiveStatistics(1, 1, sent)}, 0, 0))


@pytest.mark.parametrize(
    ("sent", "warnings"),
    [
        # before: sdy, XLA; shardings alone: sdy, XLA; with constraints: sdy, XLA
        ((100, 200, 50, 80, 50, 80), []),
        ((100, 200, 50, 300, 40, 90), ["arguments and results, it sends 300 bytes, and 200 before."]),
        ((100, 200, 50, 300, 40, 400), ["arguments and results, it sends 300", "the constraints too, it sends 400"]),
        ((100, 200, 150, 300, 150, 300), []),  # the plan is for less memory
    ],
)
def test_a_plan_that_xla_does_not_follow_is_reported(sent: tuple[float, ...], warnings: list[str]) -> None:
    found = XlaCheck(*map(result, sent)).warnings
    assert len(found) == len(warnings)
    assert all(expected in warning for expected, warning in zip(warnings, found, strict=True))


def test_a_partitioner_that_failed_is_reported() -> None:
    failed = PartitionerResult("xla", problem="stopped after 10 seconds")
    assert XlaCheck(result(1), failed, result(1), failed, result(1), failed).warnings == [
        "before, XLA: stopped after 10 seconds",
        "rules, XLA: stopped after 10 seconds",
        "plan, XLA: stopped after 10 seconds",
    ]


def is_better(check: XlaCheck) -> bool:
    """Return whether XLA sends fewer bytes with the plan, or as many with no more FLOPs and memory."""
    batch, plan = check.xla_before.statistics, check.xla_plan.statistics
    assert batch is not None
    assert plan is not None
    is_small = plan.flops <= batch.flops and plan.peak_bytes <= batch.peak_bytes
    return plan.bytes_sent < batch.bytes_sent or (plan.bytes_sent == batch.bytes_sent and is_small)


@pytest.mark.slow
@pytest.mark.skipif(not MODELS.is_dir(), reason=MISSING)
def test_xla_does_better_with_plans_than_with_batch_sharding() -> None:
    """Plans with the memory of the machine, and with that of batch sharding alone; one of the two must be better."""
    better: dict[str, list[bool]] = {}
    for name, batches in BATCHES.items():
        checks = list(checks_of(MODELS / f"{name}.mlir", batches))
        assert all(check.agrees for check in checks), name
        better[name] = [is_better(check) for check in checks]
    assert sum(any(each) for each in better.values()) >= 10, better


def checks_of(path: Path, batches: tuple[int, ...]) -> Iterator[XlaCheck]:
    """Yield the checks of plans of a model against the sharding of its batches along the first axis."""
    annotated = sdy.load(path)
    (mesh,) = meshes_of(annotated.module).values()
    program = sdy.Program.from_module(without_shardings(annotated.module, mesh))
    batch = program.apply([sdy.shard(f"arg{number}", dim=0, axis=mesh.axes[0].name) for number in batches])
    for memory in (None, batch.steps[-1].cost.peak_bytes):
        yield program.search(memory=memory, time_limit=6).check_xla(batch.program)
