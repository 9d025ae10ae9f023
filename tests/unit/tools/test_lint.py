"""`sdy lint`: exit status, formats, the file that --fix writes, and settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES
from support.lint_programs import FIRES, program

from sdy.tools.main import main

MATMUL = EXAMPLES[EXAMPLE_NAMES.index("matmul_case4")]
CLEAN = EXAMPLES[EXAMPLE_NAMES.index("matmul_case1")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.mlir"
    path.write_text(MATMUL.read_text())
    return path


def test_findings_are_reported_in_each_format(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["lint", str(file), "--select", "S401", "--show-small"]
    assert main(arguments) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f'{file}:3:184: warning: result is replicated along "y", which could shard it: 2.68 µs')
    assert lines[2].strip("^ ") == ""
    assert len(lines[2]) == lines[1].index(") {")
    assert lines[-1] == "3 findings, 3 fixable with --fix"
    assert main([*arguments, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in answer["findings"]] == ["SDY-S401"] * 3
    assert answer["findings"][0]["fix"]["saves"]["memory"] == 192
    assert answer["totals"]["bytes_sent"] == 1536
    assert main([*arguments, "--output-format=github"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"::warning file={file},line=3,col=184,title=SDY-S401::result is replicated")
    assert "%0Ahint: annotate result as" in first


def test_fix_writes_the_program_and_only_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file), "--fix", "--ignore", "S410,S415"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("fixed SDY-S401: annotate result as")
    assert "no findings, 1 fixed" in out
    fixed = file.read_text()
    start, end = MATMUL.read_text().split(" -> ", 1)
    assert fixed == " -> ".join([start, end.replace('[{"x"}, {}]', '[{"x"}, {"y"}]', 1)])
    assert main(["lint", str(file), "--fix", "--ignore", "S410,S415"]) == 0
    assert capsys.readouterr().out == "no findings\n"
    assert file.read_text() == fixed


def test_the_fixed_program_can_go_to_standard_output(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file), "--fix", "--output", "-", "--ignore", "S410,S415"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("module @jit")
    assert "fixed SDY-S401" in captured.err
    assert file.read_text() == MATMUL.read_text()


def test_a_program_without_findings_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(CLEAN)]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_the_nearest_pyproject_is_read_and_arguments_override_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "pyproject.toml").write_text('[tool.sdy.lint]\nselect = ["S402"]\non = "h100"\n')
    assert main(["lint", str(file)]) == 0
    assert main(["lint", str(file), "--select", "S401", "--on", "tpu_v5e", "--show-small"]) == 1
    assert "2.68 µs" in capsys.readouterr().out


def test_untried_findings_are_counted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file), "--select", "S401", "--trials", "1", "--show-small"]) == 1
    assert capsys.readouterr().out.endswith(
        "possible findings were not tried: --trials or --time-limit raises the limit\n"
    )


def test_the_optimizer_can_be_disabled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(program(FIRES["SDY-S405"]))
    assert main(["lint", str(path), "--select", "S405"]) == 0
    assert main(["lint", str(path), "--select", "S405", "--no-optimizer"]) == 1
    assert "p.mlir:3:6: warning: every device uses a slice alone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.mlir"], "cannot read absent.mlir"),
        ([str(MATMUL), "--select", "S9"], "unknown rule 'S9'"),
        ([str(MATMUL), "--output", "out.mlir"], "--output requires --fix"),
        ([str(MATMUL), "--on", "abacus"], "abacus"),
        (["program.mlir.gz", "--fix"], "--fix cannot write program.mlir.gz"),
    ],
)
def test_what_cannot_be_examined_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "many"], "expected a count, got 'many'"),
        (["--time-limit", "soon"], "expected a number of seconds, got 'soon'"),
        (["--time-limit", "0"], "expected a number of seconds, got '0'"),
    ],
)
def test_a_wrong_limit_is_reported(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(MATMUL), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_time_the_summary_counts_what_was_not_tried(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file), "--select", "S401", "--time-limit", "1e-9", "--show-small"]) == 0
    assert "no findings; " in capsys.readouterr().out


def test_findings_name_the_python_line_of_an_op(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(
        """sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<1024x1024xf32> {
  %0 = stablehlo.tanh %a : tensor<1024x1024xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{}, {"x"}]> : tensor<1024x1024xf32> loc("train.py":12:4)
  %2 = stablehlo.abs %1 : tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}
"""
    )
    assert main(["lint", str(file), "--select", "S415"]) == 1
    assert f'{file}:4:8 (train.py:12): warning: "x" shards dim 1 of %1' in capsys.readouterr().out
