"""Programs that are compiled by passes of the user: every question is answered for these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import sdy
from sdy.extend import CustomPropagatePass, Direction, FactorIndex, FactorKind, OpStep, Projection, Schedule, aggressive
from sdy.passes.manager.all import added_passes
from sdy.tools.main import main

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
"""


def without_sums(step: OpStep, projection: Projection) -> Projection:
    kinds = [step.rule.kind(FactorIndex(factor)) for factor in range(len(step.directions))]
    directions = (
        Direction.NONE if kind is FactorKind.REDUCTION else direction
        for kind, direction in zip(kinds, step.directions, strict=True)
    )
    return aggressive(replace(step, directions=tuple(directions)), projection)


@dataclass(frozen=True)
class WithoutSums(CustomPropagatePass):
    """Propagate like the aggressive strategy, but never along reductions."""

    name = "test-without-sums"
    schedule: Schedule = field(default_factory=lambda: Schedule(strategies=(without_sums,)))


@dataclass(frozen=True)
class NotesRuns(ModulePass):
    """Counts its runs."""

    name = "test-notes-runs"
    runs = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        type(self).runs += 1


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for each in (WithoutSums, NotesRuns):
        sdy.register_pass(each)
    yield
    for each in (WithoutSums, NotesRuns):
        del added_passes[each.name]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    return file


def sharding_of_b(program: sdy.Program) -> str:
    return str(program.partition().boundary.arguments[1].sharding)


@pytest.mark.parametrize("propagation", [WithoutSums(), "test-without-sums"])
def test_an_own_strategy_is_in_every_answer(propagation: ModulePass | str) -> None:
    program = sdy.Program.from_text(PROGRAM)
    mine = program.with_passes(propagation=propagation)
    assert (sharding_of_b(program), sharding_of_b(mine)) == ('<@mesh, [{"y"}, {}]>', "<@mesh, [{}, {}]>")
    assert all(each.agrees for each in mine.verify())
    assert mine.prove().is_proved
    assert mine.cost("h100").peak_bytes > program.cost("h100").peak_bytes
    assert mine.report() != program.report()
    assert "is sharded along" in program.explain("%b")
    assert "is sharded along" not in mine.explain("%b")
    assert 'axis "y"' not in mine.why_not("%b", dim=0, axis="y").splitlines()[0]
    assert program.propagate() is not mine.propagate()
    assert str(program.propagate()) != str(mine.propagate())


def test_a_search_prices_candidates_by_the_own_strategy() -> None:
    mine = sdy.Program.from_text(PROGRAM).with_passes(propagation=WithoutSums())
    plan = mine.search(on="h100", time_limit=10)
    assert plan.before == mine.optimized_for("h100").cost("h100")
    assert plan.program.options.propagation == WithoutSums()


def test_a_pipeline_replaces_all_passes_to_collectives() -> None:
    before = NotesRuns.runs
    text = "builtin.module(sdy-partition-pipeline{keep-layers=true},test-notes-runs)"
    mine = sdy.Program.from_text(PROGRAM).with_passes(pipeline=text)
    assert str(mine.partition()) == str(sdy.Program.from_text(PROGRAM).partition())
    assert NotesRuns.runs == before + 1
    assert "is sharded along" in mine.explain("%b")  # the pipeline propagates by a schedule, which is recorded


def test_passes_without_a_schedule_cannot_be_explained() -> None:
    mine = sdy.Program.from_text(PROGRAM).with_passes(propagation="cse")
    assert all(each.agrees for each in mine.verify())
    with pytest.raises(sdy.SdyError, match="SDY-T013"):
        mine.explain("%b")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--propagation", "no-such-pass"], "SDY-T003"),
        (["--propagation", "cse,cse"], "SDY-T005"),
        (["--pass-pipeline", "cse"], "SDY-T005"),
        (["--pass-pipeline", "builtin.module(cse)", "--propagation", "cse"], "SDY-T204"),
    ],
)
def test_wrong_passes_are_one_diagnostic(
    words: list[str], code: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(path), *words]) == 2
    printed = capsys.readouterr().err
    assert printed.count("[SDY-") == 1
    assert f"[{code}]" in printed


@pytest.mark.parametrize(
    "words",
    [
        ["verify"],
        ["verify", "--prove"],
        ["cost", "--on", "h100"],
        ["report"],
        ["explain", "--collectives"],
        ["lint"],
        ["search", "--time-limit", "2"],
        ["partition"],
    ],
    ids=" ".join,
)
def test_commands_take_an_own_propagation(words: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, *options = words
    for chosen in ([], ["--propagation", "test-without-sums"]):
        assert main([command, str(path), *options, *chosen]) in (0, 1)
    assert "SDY-T" not in capsys.readouterr().err
