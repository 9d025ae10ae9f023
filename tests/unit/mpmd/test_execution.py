"""Programs of several meshes run on the devices of their meshes, at each stage of their compilation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.pipeline_programs import assignment, train_step

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.evidence.pipelines import PipelineEvidence, failure_of_plan, prove_pipeline, verify_pipeline
from sdy.mpmd.execution.without_meshes import without_meshes
from sdy.passes.manager.pass_options import passes_of
from sdy.passes.run import run_passes
from sdy.tools.main import main
from sdy.tools.sdy_run import main as sdy_run

STAGES, MICROBATCHES = 3, 4
IMPORT = f"mpmd-import-pipeline{{name-to-mesh-assignment={assignment(STAGES, lambda stage: stage)}}}"
COMPILATION = (
    IMPORT,
    "mpmd-optimize-pipeline{pipeline-schedule=1F1B}",
    "mpmd-sharding-propagation-pipeline",
    "mpmd-export-pipeline{fail-on-inferred-fragments=false}",
)
SHARDINGS = ('<@mesh, [{}, {"x"}]>', '<@mesh, [{"x"}, {"y"}]>', "<@mesh, [{}, {}]>")


@pytest.fixture(scope="module")
def stages() -> list[str]:
    """The text of a train step: as written, and after each pipeline of passes."""
    texts = [train_step(STAGES, MICROBATCHES, axes='"x"=2, "y"=2', shardings=SHARDINGS)]
    module = parse_module(texts[0], "step.mlir")
    for pipeline in COMPILATION:
        run_passes(make_context(), module, passes_of(f"builtin.module({pipeline})"))
        texts.append(print_module(module))
    return texts


@pytest.mark.parametrize("stage", range(1, 5))
def test_each_stage_of_the_compilation_computes_what_the_program_without_names_does(
    stages: list[str], stage: int
) -> None:
    program = sdy.mpmd.Pipeline.from_text(stages[stage]).partition()
    original = without_meshes(parse_module(stages[0], "step.mlir"))
    found = verify_pipeline(program, original=original)
    assert found.agrees
    assert not isinstance(found, PipelineEvidence)
    assert len(found.rounds) == 3
    assert prove_pipeline(program, original).agrees


def test_gradients_are_those_of_numpy(stages: list[str]) -> None:
    generator = np.random.default_rng(1)
    weights = [generator.standard_normal((8, 8)).astype(np.float32) / 4 for _ in range(STAGES)]
    inputs = [generator.standard_normal((4, 8)).astype(np.float32) for _ in range(MICROBATCHES)]
    total, *gradients = sdy.mpmd.Pipeline.from_text(stages[4]).partition().run_flat([*weights, *inputs])
    wanted, wanted_total = [np.zeros((8, 8))] * STAGES, np.zeros((4, 8))
    for value in inputs:
        values = [value.astype(np.float64)]
        for weight in weights:
            values.append(np.tanh(values[-1] @ weight))
        wanted_total = wanted_total + values[-1]
        gradient = np.ones((4, 8))
        for stage in reversed(range(STAGES)):
            gradient = gradient * (1 - values[stage + 1] ** 2)
            wanted[stage] = wanted[stage] + values[stage].T @ gradient
            gradient = gradient @ weights[stage].T
    assert np.allclose(total.astype(np.float64), wanted_total, rtol=1e-4, atol=1e-5)
    for found, expected in zip(gradients, wanted, strict=True):
        assert np.allclose(found.astype(np.float64), expected, rtol=1e-4, atol=1e-5)


def test_a_mesh_tensor_is_sharded_over_the_devices_of_its_mesh(stages: list[str]) -> None:
    program = sdy.mpmd.Pipeline.from_text(stages[3]).partition()
    assert program.layout.devices == {f"m{mesh}": tuple(range(4 * mesh, 4 * mesh + 4)) for mesh in range(3)}
    assert program.mesh.device_count == 12
    arrays = [np.ones(shape, np.float32) for shape in [(8, 8)] * STAGES + [(4, 8)] * MICROBATCHES]
    gradient = program.run_on_devices(arrays)[2]
    assert gradient.local_shape == (4, 4)


@pytest.mark.parametrize("options", [["--local"], ["--local", "--reduced"], ["--local", "--prove"], ["--against"]])
def test_verify_against_the_program_before_its_import_finds_a_fault(
    stages: list[str], options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, compiled = tmp_path / "written.mlir", tmp_path / "compiled.mlir"
    written.write_text(stages[0])
    compiled.write_text(stages[4])
    files = [compiled, written] if options == ["--against"] else [written, compiled]
    command = ["verify", str(files[0]), *options]
    command.insert(command.index("--against" if files[0] is compiled else "--local") + 1, str(files[1]))
    assert main(command) == 0
    assert "the same function" in capsys.readouterr().out
    compiled.write_text(stages[4].replace("stablehlo.subtract", "stablehlo.add", 1))
    assert main(command) == 1
    assert "differ" in capsys.readouterr().out


def test_the_types_of_programs_that_are_compared_must_agree(
    stages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled, other = tmp_path / "compiled.mlir", tmp_path / "other.mlir"
    compiled.write_text(stages[4])
    other.write_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n")
    assert main(["verify", str(compiled), "--against", str(other)]) == 2
    assert "SDY-V007" in capsys.readouterr().err


def test_verify_prints_meshes_and_fragments(
    stages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "imported.mlir"
    path.write_text(stages[1])
    assert main(["verify", str(path)]) == 0
    output = capsys.readouterr().out
    assert "│ m1   │ x=2 y=2 │ 4 to 7  │         8 │" in output
    assert "the same function, in 3 draws" in output
    assert main(["verify", str(path), "--reduced"]) == 0
    assert "fragments and 16 transfers" in capsys.readouterr().out
    assert main(["verify", str(path), "--prove", "--json"]) == 0
    assert '"transfers": 16' in capsys.readouterr().out


MESHES = 'topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["y"=2, "z"=3]>>, <"c" : <["x"=2]>>>'
A, B, C = (f'!mpmd.mesh_tensor<"{name}", tensor<12xf32>, sharding=<@{name}, ' for name in "abc")
UNEQUAL = f"""
sdy.mesh @a = <["x"=2]>
sdy.mesh @b = <["y"=2, "z"=3]>
func.func @main(%x: {A}[{{"x"}}]>>) -> {C}[{{"x"}}]>> attributes {{{MESHES}}} {{
  %0 = mpmd.transfer %x : ({A}[{{"x"}}]>>) -> {B}[{{"z", "y"}}]>>
  %1 = mpmd.fragment<mesh="b", origin=["f"]> (%0) (%p: tensor<12xf32>) {{
    %2 = stablehlo.reverse %p, dims = [0] : tensor<12xf32>
    mpmd.return %2 : tensor<12xf32>
  }} : ({B}[{{"z", "y"}}]>>) -> {B}[{{"y"}}]>>
  %3 = mpmd.transfer %1 : ({B}[{{"y"}}]>>) -> {C}[{{"x"}}]>>
  return %3 : {C}[{{"x"}}]>>
}}
"""


def test_a_transfer_between_meshes_of_other_sizes_sends_parts_of_shards(capsys: pytest.CaptureFixture[str]) -> None:
    program = sdy.mpmd.Pipeline.from_text(UNEQUAL).partition()
    array = np.arange(12, dtype=np.float32)
    assert np.array_equal(program.run_flat([array])[0], array[::-1])
    assert verify_pipeline(program).agrees
    assert verify_pipeline(program, reduced=True).agrees
    plan = program.layout.plan(program.transfers()[0])
    assert {send.target for send in plan.sends} == set(range(2, 8))
    assert failure_of_plan(plan) == ""


def test_a_plan_that_does_not_deliver_is_no_evidence() -> None:
    program = sdy.mpmd.Pipeline.from_text(UNEQUAL).partition()
    plan = program.layout.plan(program.transfers()[0])
    first, *rest = plan.sends
    assert "elements for a shard of 2" in failure_of_plan(replace(plan, sends=tuple(rest)))
    assert "or some twice" in failure_of_plan(replace(plan, sends=(first, first, *rest)))
    stranger = first._replace(source=first.target)
    assert "neither holds nor received" in failure_of_plan(replace(plan, sends=(stranger, *rest)))
    wrong = first._replace(target=plan.sends[-1].target)
    assert "not in its shard" in failure_of_plan(replace(plan, sends=(wrong, *rest)))


LOOP = """
func.func @main(%x: M) -> M attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 3 : ui32} (%v: M, %index: tensor<ui32>) {
    %1 = mpmd.call @twice(%v) : (M) -> M
    mpmd.return %1 : M
  } : M
  return %0 : M
}
func.func private @twice(%x: M) -> M attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.add %p, %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (M) -> M
  return %0 : M
}
""".replace(" M", ' !mpmd.mesh_tensor<"a", tensor<4xf32>>').replace("(M", '(!mpmd.mesh_tensor<"a", tensor<4xf32>>')


def test_loops_and_calls_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = sdy.mpmd.Pipeline.from_text(LOOP)
    assert pipeline.verify().agrees
    array = np.arange(4, dtype=np.float32)
    assert np.array_equal(pipeline.run(array)[0], 8 * array)
    path = tmp_path / "loop.mlir"
    path.write_text(LOOP)
    assert sdy_run([str(path), "--args=[dense<1.0> : tensor<4xf32>]", "--devices-table"]) == 0
    output = capsys.readouterr().out
    assert "[8.000000e+00, 8.000000e+00, 8.000000e+00, 8.000000e+00]" in output
    assert "devices of a" in output


def test_names_alone_need_no_meshes(stages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(stages[0])
    assert main(["verify", str(path)]) == 0
    assert "the same function" in capsys.readouterr().out
    path.write_text(stages[1])
    assert main(["lint", str(path)]) == 2
    assert "SDY-T283" in capsys.readouterr().err


TENSOR = '!mpmd.mesh_tensor<"a", tensor<8xf32>>'
RETURNED = f"  return %x : {TENSOR}\n}}\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("no topology", f"func.func @main(%x: {TENSOR}) -> {TENSOR} {{\n{RETURNED}"),
        (
            "stablehlo.constant is on no mesh",
            f"func.func @main(%x: {TENSOR}) -> (tensor<f32>, {TENSOR}) attributes {{{MESHES}}} {{\n"
            f"  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n  return %0, %x : tensor<f32>, {TENSOR}\n}}\n",
        ),
        (
            "a value of type tensor<8xf32> is on no mesh",
            f"func.func @main(%x: {TENSOR}, %y: tensor<8xf32>) -> {TENSOR} attributes {{{MESHES}}} {{\n{RETURNED}",
        ),
    ],
)
def test_programs_that_cannot_run(words: str, text: str) -> None:
    with pytest.raises(SdyError) as raised:
        sdy.mpmd.Pipeline.from_text(text, "bad.mlir").partition()
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "SDY-M401"
    assert words in diagnostic.message
    assert diagnostic.span is not None
