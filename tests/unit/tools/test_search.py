"""`sdy search`: prints a plan, writes the annotated program, and explains wrong options."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import sdy
from sdy.search.search_networks import SearchNetworks
from sdy.tools.main import main

PROGRAM = """
func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
"""
MANUAL = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<4xf32>) {
    sdy.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_a_plan_is_printed_and_written(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "annotated.mlir"
    assert main(["search", str(file), "--mesh", "data=8", "-o", str(output), "--time-limit", "10"]) == 0
    text = capsys.readouterr().out
    assert "P('data', None)" in text
    assert "predicted time" in text
    assert "annotated programs were partitioned" in text
    annotated = sdy.load(output)
    assert all(each.agrees for each in annotated.verify())
    assert annotated.cost("tpu_v5e").seconds_in_turn < sdy.load(file).cost("tpu_v5e").seconds_in_turn / 4


def test_termination_prints_the_best_plan_so_far(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch system sends SIGTERM before it ends a job; the handler of the process is in force again afterwards."""
    solve, before = SearchNetworks.solution, signal.getsignal(signal.SIGTERM)

    def terminated(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        return solve(*arguments)  # pyright: ignore[reportArgumentType] -- those of the caller

    monkeypatch.setattr(SearchNetworks, "solution", terminated)
    assert main(["search", str(file), "--mesh", "data=8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["end"] == "interrupt"
    assert signal.getsignal(signal.SIGTERM) is before


def test_json_and_the_program_on_the_screen(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--mesh", "data=8", "--json", "-o", "-", "--fix", "%w=P()", "--memory", "1GB", "--time-limit", "10"]
    assert main(["search", str(file), *options]) == 0
    printed = capsys.readouterr()
    plan = json.loads(printed.err)
    assert plan["mesh"] == {"data": 8}
    assert plan["in_shardings"]["%w"] == "P(None, None)"
    assert plan["after"]["free_bytes"] == 1_000_000_000
    assert plan["gap"] < 1e-3
    assert "sdy.mesh @mesh" in printed.out


def test_an_explanation_has_a_row_per_axis(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [str(file), "--mesh", "data=8", "--time-limit", "10", "--explain"]
    assert main(["search", *options]) == 0
    text = capsys.readouterr().out
    assert "the best plan without each axis" in text
    assert "data (dim 0)" in text
    assert main(["search", *options, "--json"]) == 0
    (choice,) = json.loads(capsys.readouterr().out)["explanation"]["choices"]
    assert (choice["values"], choice["dim"], choice["axis"]) == (["%x"], 0, "data")
    assert choice["extra"] > 0


def test_a_program_that_cannot_be_sharded_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text("""
        func.func @main(%a: tensor<5x7xf32>) -> tensor<5x7xf32> {
          %0 = stablehlo.tanh %a : tensor<5x7xf32>
          return %0 : tensor<5x7xf32>
        }""")
    assert main(["search", str(path), "--mesh", "data=8"]) == 0
    assert "No op can be sharded: no axis divides a dim" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (PROGRAM, [], "the program has no mesh"),
        (PROGRAM, ["--mesh", "data"], "expected axes such as data=16,model=4"),
        (PROGRAM, ["--devices", "0"], "expected at least 2, got 0"),
        (PROGRAM, ["--mesh", "data=2", "--fix", "y=P()"], "no argument or result is called y"),
        (PROGRAM, ["--mesh", "data=2", "--fix", "P()"], "expected NAME=SHARDING, got P()"),
        (PROGRAM, ["--mesh", "data=2", "--fix", "%arg0=P('z')"], "z"),
        (PROGRAM, ["--mesh", "data=2", "--on", "tpu_v9"], "unknown hardware tpu_v9"),
        (PROGRAM, ["--mesh", "data=2", "--memory", "much"], "memory: expected a number of bytes"),
        (MANUAL, ["--mesh", "y=2"], "sdy.manual_computation is written for the mesh"),
    ],
)
def test_wrong_options_are_one_diagnostic(
    text: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    assert main(["search", str(path), *options]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("error:") == 1


LAYERS = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
"""
LAYER = """
  %d{0} = stablehlo.dot_general %{1}, %{2}, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %t{0} = stablehlo.tanh %d{0} : tensor<64x256xf32>
  %u{0} = stablehlo.add %t{0}, %{1} : tensor<64x256xf32>
"""


def test_a_pipeline_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layers.mlir"
    layers = "".join(LAYER.format(number + 1, "x" if number == 0 else f"u{number}", "w") for number in range(4))
    path.write_text(f"{LAYERS}{layers}  return %u4 : tensor<64x256xf32>\n}}\n")
    arguments = ["search", str(path), "--stages", "4", "--microbatches", "2..4", "--devices", "8", "--on", "h100"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "4 of x=2" in text
    assert 'pipeline_schedule="GPipe"' in text
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"] == [1, 1, 1, 1]
    assert main(["search", str(path), "--microbatches", "2", "--mesh", "x=2"]) != 0
    assert "requires --stages" in capsys.readouterr().err
