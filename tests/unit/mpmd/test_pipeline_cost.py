"""When the fragments of a pipeline run: the closed forms of schedules, and what each mesh holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pipeline_programs import Placement, assignment, labelled_fragments, train_step

import sdy
from sdy.compile.pipeline_cost import PipelineCost, kind_of
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.evidence.pipelines import verify_pipeline
from sdy.mpmd.execution.without_meshes import without_meshes
from sdy.mpmd.schedules.builtin import SCHEDULES, TOTAL_ORDERS, splits_backward
from sdy.mpmd.schedules.fragment_info import FragmentInfo
from sdy.passes.manager.pass_options import passes_of
from sdy.passes.run import run_passes
from sdy.tools.main import main

STAGES, MICROBATCHES = (2, 4, 8), range(1, 17)
FEW = [(2, 3), (4, 4), (4, 8)]
ALL = [(stages, count) for stages in STAGES for count in MICROBATCHES]
NAMES = [*SCHEDULES, *TOTAL_ORDERS]
TRAINING = [name for name in NAMES if name != "ParallelPipelinesWithWrapAround"]  # that one is for forward units only
TWO_STAGES_PER_MESH = ("Circular", "CircularWithReversedBackward", "Interleaved1F1B", "DualPipeV")


def unit_seconds(info: FragmentInfo) -> float:
    return 2.0 if kind_of(info) == "B" else 1.0


def placement(schedule: str, meshes: int) -> Placement:
    if schedule == "DualPipeV":
        return lambda stage: stage if stage < meshes else 2 * meshes - 1 - stage
    return lambda stage: stage % meshes


def unit_cost(schedule: str, meshes: int, microbatches: int, transfer: float = 0.0) -> PipelineCost:
    stages = meshes * (1 + (schedule in TWO_STAGES_PER_MESH))
    text = labelled_fragments(
        meshes, stages, microbatches, splits=splits_backward(schedule), mesh_of=placement(schedule, meshes)
    )
    ordered = sdy.mpmd.Pipeline.from_text(text).scheduled(schedule)
    return ordered.cost(seconds_of=unit_seconds, transfer_seconds=transfer)


def closed_form(schedule: str, meshes: int, microbatches: int) -> float | None:
    """Return the published time with F = A = W = 1, or None where there is none for these numbers."""
    bubble = 3 * (meshes - 1)
    match schedule:
        case "none":  # each microbatch passes all meshes before the next begins
            return 3 * meshes * microbatches
        case "GPipe" | "1F1B" | "GPipeBut1F1BForLastMesh":
            return 3 * microbatches + bubble
        case "Interleaved1F1B" if microbatches >= meshes:
            return 6 * microbatches + bubble
        case "ZB-H1" if microbatches >= meshes:
            return 3 * microbatches + meshes - 1
        case "ZB-H2" if microbatches >= 2 * meshes - 1:
            return 3 * microbatches + meshes - 1
        case _:
            return None


def check_closed_form(schedule: str, meshes: int, microbatches: int) -> None:
    found, wanted = unit_cost(schedule, meshes, microbatches), closed_form(schedule, meshes, microbatches)
    work = 3 * microbatches * (1 + (schedule in TWO_STAGES_PER_MESH))
    assert [mesh.busy for mesh in found.meshes] == [work] * meshes
    assert work <= found.seconds <= work * meshes
    if wanted is not None:
        assert found.seconds == wanted
    if schedule == "ZB-H2" and wanted is not None:
        assert found.bubble == 0
    elif schedule in ("1F1B", "ZB-H1") and wanted is not None:
        assert found.bubble == found.seconds - work
    elif schedule == "DualPipeV" and microbatches >= 2 * meshes:
        assert found.bubble <= 2 * (meshes - 1)  # (p - 1)(F + B + B - 3W), an estimate of its authors


@pytest.mark.parametrize(("meshes", "microbatches"), FEW)
@pytest.mark.parametrize("schedule", TRAINING)
def test_times_are_those_of_the_closed_forms(schedule: str, meshes: int, microbatches: int) -> None:
    check_closed_form(schedule, meshes, microbatches)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", TRAINING)
def test_all_times_are_those_of_the_closed_forms(schedule: str) -> None:
    for meshes, microbatches in ALL:
        check_closed_form(schedule, meshes, microbatches)


@pytest.mark.parametrize(
    ("schedule", "seconds", "with_transfers"),
    [
        ("none", 96, 144),
        ("GPipe", 33, 39),
        ("GPipeBut1F1BForLastMesh", 33, 39),
        ("1F1B", 33, 49),
        ("ZeroBubbleH1", 29, 41),
        ("ZeroBubbleH2ZeroTxLatency", 29, 35),
    ],
)
def test_times_of_shardys_schedules(schedule: str, seconds: float, with_transfers: float) -> None:
    """Four meshes and eight microbatches; docs/spec/08, 3.4."""
    assert unit_cost(schedule, 4, 8).seconds == seconds
    assert unit_cost(schedule, 4, 8, transfer=1.0).seconds == with_transfers


def imported(stages: int, microbatches: int, mesh_of: Placement, meshes: int) -> tuple[str, sdy.mpmd.Pipeline]:
    text = train_step(stages, microbatches, meshes)
    module = parse_module(text, "step.mlir")
    option = f"mpmd-import-pipeline{{name-to-mesh-assignment={assignment(stages, mesh_of)}}}"
    run_passes(make_context(), module, passes_of(f"builtin.module({option})"))
    return text, sdy.mpmd.Pipeline.from_text(print_module(module))


def check_values(schedule: str, meshes: int, microbatches: int) -> None:
    """Check that the step and its gradients are those of the program without names, whatever the order."""
    stages = meshes * (1 + (schedule in TWO_STAGES_PER_MESH))
    text, pipeline = imported(stages, microbatches, placement(schedule, meshes), meshes)
    program = pipeline.scheduled(schedule).partition()
    original = without_meshes(parse_module(text, "step.mlir"))
    assert verify_pipeline(program, original=original).agrees


@pytest.mark.parametrize("schedule", TRAINING)
def test_values_and_gradients_do_not_depend_on_the_schedule(schedule: str) -> None:
    check_values(schedule, 2, 4)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", TRAINING)
def test_values_and_gradients_of_all_sizes(schedule: str) -> None:
    for meshes, microbatches in ALL:
        check_values(schedule, meshes, microbatches)


def test_a_function_of_two_fragments_orders_them() -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(labelled_fragments(2, 2, 3, splits=False))

    def last_microbatch_first(first: FragmentInfo, second: FragmentInfo) -> bool:
        assert first.call_counter is not None
        assert second.call_counter is not None
        return kind_of(first) == kind_of(second) and first.call_counter > second.call_counter

    cost = pipeline.scheduled(last_microbatch_first).cost(seconds_of=unit_seconds, transfer_seconds=0.0)
    order = [slot.label for slot in sorted(cost.slots, key=lambda each: each.start) if slot.place == "m0"]
    assert [label for label in order if label.startswith("F")] == ["F2", "F1", "F0"]


def test_rules_order_fragments() -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(labelled_fragments(1, 1, 3, splits=False))
    infos = list(pipeline.partition().runs.values())
    forward = [info for info in infos if kind_of(info) == "F"]
    found = pipeline.scheduled([sdy.mpmd.ScheduleRule(tuple(reversed(forward)))])
    cost = found.cost(seconds_of=unit_seconds, transfer_seconds=0.0)
    assert [slot.label for slot in cost.slots if slot.kind == "F"] == ["F2", "F1", "F0"]


def backward_first(first: FragmentInfo, second: FragmentInfo) -> bool:
    return kind_of(first) == "B" and kind_of(second) == "F"


def both_first(_first: FragmentInfo, _second: FragmentInfo) -> bool:
    return True


@pytest.mark.parametrize(
    ("schedule", "code", "words"),
    [
        (backward_first, "SDY-M402", "deadlocks"),
        (both_first, "SDY-M402", "deadlocks"),
        ("DualPipeV", "SDY-M010", "has 1 stages, but this schedule needs 2"),
        ("ZB-H3", "SDY-M010", "unknown schedule"),
    ],
)
def test_schedules_that_do_not_fit(schedule: object, code: str, words: str) -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(labelled_fragments(2, 2, 2, splits=False))
    with pytest.raises(SdyError) as raised:
        pipeline.scheduled(schedule)  # pyright: ignore[reportArgumentType]
    found = raised.value.diagnostics[0]
    assert found.code == code
    assert words in found.message
    if code == "SDY-M402":
        assert len(found.notes) >= 2
        assert all(note.span is not None for note in found.notes)


def test_only_fragments_with_a_counter_are_ordered() -> None:
    text = labelled_fragments(1, 1, 1, splits=False).replace("call_counter", "counter")
    with pytest.raises(SdyError) as raised:
        sdy.mpmd.Pipeline.from_text(text).scheduled("1F1B")
    assert raised.value.diagnostics[0].code == "SDY-M403"


def test_a_cost_requires_a_machine_or_all_times() -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(labelled_fragments(1, 1, 1, splits=False))
    with pytest.raises(SdyError) as raised:
        pipeline.cost(seconds_of=unit_seconds)
    assert raised.value.diagnostics[0].code == "SDY-T204"


def test_gpipe_holds_the_activations_of_all_microbatches() -> None:
    costs = {name: unit_cost(name, 4, 8) for name in ("GPipe", "1F1B")}
    assert costs["1F1B"].meshes[1].peak_bytes < costs["GPipe"].meshes[1].peak_bytes
    times = [time for time, _ in costs["GPipe"].meshes[0].memory]
    assert times == sorted(times)
    assert times[-1] <= costs["GPipe"].seconds


def test_a_slot_says_what_it_waits_for() -> None:
    cost = unit_cost("1F1B", 2, 2, transfer=0.5)
    waits = {(slot.place, slot.label): slot.waits_for for slot in cost.slots}
    assert waits["m0", "F0"] == ""
    assert waits["m0 to m1", "T0"] in ("the result of F0 on m0", "the result of B0 on m1")
    assert waits["m1", "F0"] == "the transfer m0 to m1"
    assert waits["m1", "B0"] == "F0 on m1" or waits["m1", "B0"] == "the result of F0 on m1"
    assert cost.path[0] == "F0 on m0"
    assert cost.meshes[0].waits_for_transfers > 0
    assert cost.bytes_between == {("m0", "m1"): 32, ("m1", "m0"): 32}
    assert cost.to_json()["seconds"] == cost.seconds


def test_on_a_machine_transfers_take_the_time_of_its_links() -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(labelled_fragments(2, 2, 2, splits=False))
    cost = pipeline.scheduled("1F1B").cost("h100")
    assert 0 < cost.bubble_share < 1
    assert all(slot.end > slot.start for slot in cost.slots)
    assert repr(cost).startswith("PipelineCost(h100: ")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a program of two meshes, three microbatches."""
    found = tmp_path_factory.mktemp("pipeline") / "pipeline.mlir"
    found.write_text(labelled_fragments(2, 2, 3, splits=False))
    return str(found)


def test_sdy_cost_prints_a_chart(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["cost", path, "--on", "h100", "--schedule", "GPipe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith("m0  F0")]
    assert row.index("F1") < row.index("F2") < row.index("B0") < row.index("B2")
    assert lines[-1] == "F forward, B backward"
    assert main(["cost", path, "--on", "h100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["meshes"][1]["fragments"] == 6


def test_sdy_cost_compares_schedules(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", path, "--on", "h100", "--schedule", "none,1F1B,DualPipeV"]) == 0
    output = capsys.readouterr().out
    assert output.index("1F1B") < output.index("none") < output.index("needs 2")
    assert main(["cost", path, "--on", "h100", "--schedule", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(NAMES)
    assert "problem" in found["DualPipeV"]


def test_sdy_cost_of_one_mesh_has_no_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.mlir"
    program.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n")
    assert main(["cost", str(program), "--on", "h100", "--schedule", "1F1B"]) == 2
    assert "--schedule is for programs of several meshes [SDY-T204]" in capsys.readouterr().err


def test_the_page_says_on_hover_what_a_fragment_waits_for(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", path, "--html", str(page)]) == 0
    found = page.read_text()
    assert "forward, stage 1, microbatch 0" in found
    assert "for the transfer m0 to m1" in found
    assert found.count("<rect") == 12 + 6
    assert main(["report", path]) == 0
    assert "axes" in capsys.readouterr().out
