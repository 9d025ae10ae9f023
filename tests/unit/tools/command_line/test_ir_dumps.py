"""The modules that `sdy-opt` prints to standard error or writes to a directory around passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

import sdy
from sdy.passes.manager.all import added_passes
from sdy.tools.sdy_opt import main as sdy_opt

PROGRAM = """\
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
DUMP = "// -----// IR Dump"
Run = Callable[..., tuple[int, str]]


@dataclass(frozen=True)
class BreakingPass(ModulePass):
    """Change the type of a result, which is wrong."""

    name = "test-breaking"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the type of the result of tanh."""
        tanh = next(each for each in op.walk() if each.name == "stablehlo.tanh")
        Rewriter.replace_value_with_new_type(tanh.results[0], TensorType(i32, [4]))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Return a function that runs sdy-opt on the program; it returns the exit code and standard error."""
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)

    def run(*words: str) -> tuple[int, str]:
        code = sdy_opt([str(file), *words])
        return code, capsys.readouterr().err

    sdy.register_pass(BreakingPass)
    yield run
    del added_passes[BreakingPass.name]


PASSES = "--symbol-dce", "--test-breaking", "--cse"


def test_a_pass_with_an_invalid_result_is_named(run: Run) -> None:
    code, text = run(*PASSES)
    assert code == 1
    assert "program.mlir:2:8: error: stablehlo.tanh: " in text
    assert "note: after pass test-breaking, whose result is not valid" in text
    assert DUMP not in text


@pytest.mark.parametrize(
    ("flag", "dumped"),
    [
        ("--mlir-print-ir-after-all", ["symbol-dce", "test-breaking Failed"]),
        ("--mlir-print-ir-after-change", ["test-breaking Failed"]),
        ("--mlir-print-ir-after-failure", ["test-breaking Failed"]),
        ("--mlir-print-ir-after=test-breaking", ["test-breaking Failed"]),
        ("--mlir-print-ir-after=symbol-dce", ["symbol-dce"]),
    ],
)
def test_the_invalid_module_is_printed(flag: str, dumped: list[str], run: Run) -> None:
    _, text = run(*PASSES, flag)
    assert [line for line in text.splitlines() if line.startswith(DUMP)] == [
        f"{DUMP} After {name} //----- //" for name in dumped
    ]
    assert ('%0 = "stablehlo.tanh"(%arg0) : (tensor<4xf32>) -> tensor<4xi32>' in text) == ("Failed" in dumped[-1])


def test_after_failure_prints_nothing_else(run: Run) -> None:
    code, text = run("--symbol-dce", "--mlir-print-ir-after-all", "--mlir-print-ir-after-failure")
    assert (code, text) == (0, "")


def test_the_invalid_module_is_written(run: Run, tmp_path: Path) -> None:
    run(*PASSES, f"--dump-dir={tmp_path / 'dumps'}")
    assert sorted(file.name for file in (tmp_path / "dumps").iterdir()) == [
        "01-after-symbol-dce.mlir",
        "02-after-test-breaking-failed.mlir",
    ]


def test_dumps_have_the_form_of_the_output(run: Run) -> None:
    _, text = run("--symbol-dce", "--mlir-print-ir-after-all", "--mlir-print-op-generic", "--mlir-print-debuginfo")
    assert '%0 = "stablehlo.tanh"(%arg0)' in text
    assert 'program.mlir":2:8)' in text


@pytest.mark.parametrize("option", ["before", "after"])
def test_a_pipeline_has_no_dump(option: str, run: Run) -> None:
    code, text = run("--sdy-import-pipeline", f"--mlir-print-ir-{option}=sdy-import-pipeline")
    assert code == 1
    assert "expected passes, got the pipeline sdy-import-pipeline" in text
