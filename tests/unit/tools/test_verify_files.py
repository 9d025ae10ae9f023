"""`sdy verify` of several files: results as of each file alone, in order, from any number of processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.main import main

PATHS = [str(EXAMPLES[EXAMPLE_NAMES.index(name)]) for name in ("matmul_case3", "matmul_case1", "matmul_case2")]
DIALECT = """
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

import sdy
from sdy.interpreter.kernel import KernelTable, pointwise

KERNELS = KernelTable()


@irdl_op_definition
class TwiceOp(IRDLOperation):
    name = "mine.twice"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"


@KERNELS.of(TwiceOp)
def twice(op):
    return pointwise(lambda x: x + x)


sdy.register_dialect(Dialect("mine", [TwiceOp]), kernels=KERNELS)
"""
TWICE = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mine.twice %a : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_results_are_those_of_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    alone: list[str] = []
    for path in PATHS:
        assert main(["verify", path]) == 0
        alone.append(f"{path}:\n{capsys.readouterr().out}\n")
    expected = "".join(alone) + "3 of 3 files agree\n"
    for count in ("1", "2"):
        assert main(["verify", *PATHS, "--processes", count]) == 0
        assert capsys.readouterr().out == expected


def test_errors_are_those_of_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken, missing = tmp_path / "broken.mlir", tmp_path / "missing.mlir"
    broken.write_text("func.func @main(%a: tensor<4xf32>) {\n  return %b : tensor<4xf32>\n}\n")
    assert main(["verify", str(broken), PATHS[0], str(missing), "--processes", "2"]) == 2
    printed = capsys.readouterr()
    assert printed.out.endswith(f"1 of 3 files agree; not run: {broken}, {missing}\n")
    assert f"{broken}:2:10: error:" in printed.err
    assert "return %b : tensor<4xf32>\n" in printed.err
    assert f"cannot read {missing}" in printed.err


def test_json_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *PATHS[:2], "--json", "--processes", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["file"], each["exit_code"]) for each in found] == [(path, 0) for path in PATHS[:2]]
    assert main(["verify", PATHS[1], "--json"]) == 0
    assert found[1]["outcome"] == json.loads(capsys.readouterr().out)


def test_other_processes_load_extensions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "twice_dialect_of_files.py"
    module.write_text(DIALECT)
    for name in ("a.mlir", "b.mlir"):
        (tmp_path / name).write_text(TWICE)
    paths = [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]
    assert main(["verify", *paths, "--load", str(module), "--processes", "2"]) == 0
    assert "2 of 2 files agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*PATHS, "--output", "local.mlir"], "--output requires one file, got 3"),
        ([*PATHS, "--inputs", "inputs.npz"], "--inputs requires one file, got 3"),
        ([PATHS[0], PATHS[0]], f"{PATHS[0]} is given twice"),
        ([PATHS[0], "-"], "- for standard input cannot be given with other files"),
        ([*PATHS, "--processes", "0"], "argument --processes: expected a count of processes, got '0'"),
    ],
)
def test_wrong_options(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *words]) == 2
    assert f"error: {message} [SDY-T204]" in capsys.readouterr().err
