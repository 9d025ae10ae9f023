"""The flags of mlir-opt: elided constants, local scopes, bytecode, reproducers, statistics, and options of passes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sdy
from sdy.tools.sdy_opt import main as sdy_opt

FUNCTION = """\
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.add %a, %c : tensor<4xf32>
  %1 = stablehlo.add %0, %s : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
CALL = """\
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.reshard %a <@m, [{"x"}]> : tensor<4xf32>
  %1 = sdy.reshard %0 <@m, [{}]> : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
RESOURCE = """\
func.func @main() -> tensor<2xi8> {
  %0 = stablehlo.constant dense_resource<blob> : tensor<2xi8>
  return %0 : tensor<2xi8>
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x010000000102"
    }
  }
#-}
"""
FAILING = "--canonicalize=enable-patterns=unknown"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs sdy-opt on a text; it returns the exit code, the output, and standard error."""

    def run(text: str, *words: str) -> tuple[int, str, str]:
        file = tmp_path / "program.mlir"
        file.write_text(text)
        code = sdy_opt([str(file), *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(("most", "is_elided"), [("0", True), ("3", True), ("4", False), ("100", False)])
def test_large_constants_are_elided(most: str, is_elided: bool, run: Run) -> None:
    code, text, _ = run(FUNCTION, f"--mlir-elide-elementsattrs-if-larger={most}")
    assert code == 0
    assert ("dense_resource<__elided__> : tensor<4xf32>" in text) == is_elided
    assert "dense<1.000000e+00>" in text  # a splat is short
    assert "{-#" not in text


@pytest.mark.parametrize("flag", ["--mlir-print-op-generic", "--mlir-print-ir-after-all", "--mlir-print-debuginfo"])
def test_elided_constants_in_all_prints(flag: str, run: Run) -> None:
    _, text, error = run(FUNCTION, "--mlir-elide-elementsattrs-if-larger=2", "--cse", flag)
    assert "[1.0" not in text + error
    assert text.count("__elided__") == 1


def test_an_elided_text_cannot_be_read(run: Run) -> None:
    _, text, _ = run(FUNCTION, "--mlir-elide-elementsattrs-if-larger=2")
    code, _, error = run(text)
    assert code == 1
    assert "__elided__" in error


def test_a_local_scope_has_no_aliases(run: Run) -> None:
    text = FUNCTION.replace("%c : tensor<4xf32>", '%c : tensor<4xf32> loc("sum"("train.py":20:4))')
    _, printed, _ = run(text, "--mlir-print-debuginfo", "--mlir-print-local-scope")
    assert '%0 = stablehlo.add %arg0, %cst : tensor<4xf32> loc("sum"("train.py":20:4))' in printed
    assert "#loc" not in printed
    assert run(printed, "--mlir-print-debuginfo", "--mlir-print-local-scope")[1].strip() == printed.strip()


def test_stripped_locations_are_unknown(run: Run) -> None:
    _, printed, _ = run(FUNCTION, "--strip-debuginfo", "--mlir-print-debuginfo", "--mlir-print-local-scope")
    assert printed.count("loc(") == printed.count("loc(unknown)") == 8


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (FUNCTION, 1),
        ("// a comment\n" + FUNCTION, 1),
        ("module {\n" + FUNCTION + "}\n", 0),
        ("\n// a comment\nbuiltin.module @m {\n" + FUNCTION + "}\n", 0),
        ("", 1),
    ],
)
def test_without_an_implicit_module_the_text_has_one(text: str, code: int, run: Run) -> None:
    found, _, error = run(text, "--no-implicit-module")
    assert found == code
    assert ("requires one module at the top level [SDY-T002]" in error) == bool(code)


def test_statistics_list_the_passes(run: Run) -> None:
    _, _, error = run(FUNCTION, "--mlir-pass-statistics", "--cse", "--symbol-dce")
    assert "Pass statistics report" in error
    assert error.splitlines()[-2:] == ["cse", "symbol-dce"]


@pytest.mark.parametrize("text", [FUNCTION, RESOURCE])
def test_a_reproducer_repeats_a_failure(text: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "reproducer.mlir"
    code, _, error = run(text, "--cse", FAILING, f"--mlir-pass-pipeline-crash-reproducer={file}")
    assert code == 1
    assert str(file) in error
    written = file.read_text()
    assert 'pipeline: "builtin.module(cse,canonicalize{enable-patterns=unknown})"' in written
    assert written.count("{-#") == written.count("#-}") == 1
    code, _, error = run(written, "--run-reproducer")
    assert code == 1
    assert "SDY-T106" in error


def test_no_reproducer_without_a_failure(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "reproducer.mlir"
    assert run(FUNCTION, "--cse", f"--mlir-pass-pipeline-crash-reproducer={file}")[0] == 0
    assert not file.exists()


def test_another_text_is_no_reproducer(run: Run) -> None:
    code, _, error = run(FUNCTION, "--run-reproducer")
    assert (code, "SDY-T002" in error) == (1, True)


@pytest.mark.parametrize("words", [(), ("--mlir-print-op-generic",), ("--cse",)])
def test_bytecode_is_the_same_program(words: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    file = tmp_path / "program.mlirbc"
    assert run(FUNCTION, "--emit-bytecode", "-o", str(file), *words)[0] == 0
    assert file.read_bytes().startswith(b"ML\xefR")
    assert str(sdy.load(str(file)).module) == str(sdy.Program.from_text(FUNCTION).module)


def test_bytecode_has_one_module(run: Run) -> None:
    code, _, error = run(FUNCTION + "// -----\n" + FUNCTION, "--split-input-file", "--emit-bytecode")
    assert (code, "expected one module for --emit-bytecode, got 2" in error) == (1, True)


def test_bytecode_without_jax_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sdy.jax.to_stablehlo.serialized", None)
    code, _, error = run(FUNCTION, "--emit-bytecode")
    assert (code, "requires JAX" in error, "Traceback" in error) == (1, True, False)


@pytest.mark.parametrize(
    "words",
    [
        "--canonicalize=max-iterations=3 top-down=false region-simplify=aggressive test-convergence",
        "--canonicalize=max-num-rewrites=10 cse-between-iterations=true",
        "--canonicalize=disable-patterns=sdy-reshard",
        "--inline=max-iterations=2 inlining-threshold=5",
        "--inline=default-pipeline=canonicalize",
        "--pass-pipeline=builtin.module(canonicalize{region-simplify=disabled},inline{default-pipeline=})",
    ],
)
def test_options_of_mlir_are_accepted(words: str, run: Run) -> None:
    code, text, error = run(FUNCTION, words)
    assert (code, error) == (0, "")
    assert "stablehlo.add" in text


def test_inlining_may_leave_out_what_simplifies(run: Run) -> None:
    assert run(CALL, "--inline")[1].count("sdy.reshard") == 1
    assert run(CALL, "--inline=default-pipeline=")[1].count("sdy.reshard") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--mlir-elide-elementsattrs-if-larger=some", "expected a number for --mlir-elide-elementsattrs-if-larger"),
        ("--canonicalize=region-simplify=much", "region-simplify"),
        ("--canonicalize=disable-patterns=unknown", 'unknown label "unknown"'),
        ("--inline=default-pipeline=cse", "default-pipeline"),
    ],
)
def test_wrong_values_are_one_diagnostic(words: str, message: str, run: Run) -> None:
    code, _, error = run(FUNCTION, words)
    assert (code, error.count("error:")) == (1, 1)
    assert message in error
