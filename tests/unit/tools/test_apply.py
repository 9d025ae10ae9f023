"""`sdy apply`: prints a table of steps, writes the annotated program, and explains wrong steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sdy
from sdy.tools.main import main

PROGRAM = """
func.func @main(%x: tensor<64x32xf32>, %up: tensor<32x64xf32>, %down: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %down, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_steps_are_applied_in_the_order_of_the_options(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "annotated.mlir"
    steps = ["--shard", "up:1=model,down:0=model", "--replicate", "result*=data", "--shard", "x:0=data"]
    assert main(["apply", file, "--mesh", "data=2,model=4", *steps, "-o", str(output)]) == 0
    text = capsys.readouterr().out
    lines = ["shard up dim 1 along model; shard down dim 0 along model", "replicate result* along data"]
    assert [line for line in lines if line in text] == lines
    assert "1 all-reduce" in text
    annotated = output.read_text()
    assert annotated.count('{"model", ?}p0') == 2
    assert 'replicated={"data"}' in annotated
    assert '{"data", ?}p1' in annotated
    assert all(each.agrees for each in sdy.load(output).verify())


def test_json_and_a_search(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", file, "--mesh", "data=2", "--search", "--json", "-o", "-"]) == 0
    printed = capsys.readouterr()
    assert [each["tactics"] for each in json.loads(printed.err)["steps"]] == ["as it was", "search the rest"]
    assert 'sdy.mesh @mesh = <["data"=2]>' in printed.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "sdy apply requires a step"),
        (["--shard", "x=data"], "expected NAME:DIM=AXIS, got x=data"),
        (["--shard", "x:first=data"], "expected NAME:DIM=AXIS"),
        (["--shard", "z:0=data"], "no argument or result matches z"),
    ],
)
def test_wrong_steps_are_one_diagnostic(
    file: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", file, "--mesh", "data=2", *options]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("error:") == 1
