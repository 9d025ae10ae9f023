"""The command `sdy explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import EXAMPLES
from support.lint_programs import FIRES, program

import sdy
from sdy.tools.main import main

MLP = next(path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
CLASH = next(path for path in EXAMPLES if path.stem == "matmul_case4")


def test_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(MLP), "%16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["%16 (stablehlo.dot_general, line 26)", '  sharded [{"data", ?}, {"model", ?}]']
    assert "    line 26  %16 = stablehlo.dot_general: from operand 1 (params[1][0]) to the result (%16)" in lines


@pytest.mark.parametrize(
    ("asked", "headline"),
    [
        ("%arg3", "params[1][1] (argument, line 3)"),
        ("params[1][1]", "params[1][1] (argument, line 3)"),
        ("@main:%12", "%12 (stablehlo.broadcast_in_dim, line 21)"),
        ("26", "%16 (stablehlo.dot_general, line 26)"),
    ],
)
def test_all_forms_of_value_queries(asked: str, headline: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(MLP), asked]) == 0
    assert capsys.readouterr().out.splitlines()[0] == headline


def test_a_value_and_the_conflicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(CLASH), "%0", "--conflicts"]) == 0
    text = capsys.readouterr().out
    assert text.index("%0 (stablehlo.dot_general") < text.index('dim 0 of that tensor is sharded along "x"')


def test_a_missing_query_and_an_unknown_value_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(MLP)]) == 2
    assert "expected a value to explain, --conflicts or --collectives [SDY-T204]" in capsys.readouterr().err
    assert main(["explain", str(MLP), "%nope"]) == 2
    assert "@main has no value %nope [SDY-T203]" in capsys.readouterr().err


def test_an_invalid_program_in_a_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.mlir"
    file.write_text("func.func @main(%a: tensor<4xf32>) { %0 = stablehlo.nothing %a }")
    assert main(["explain", str(file), "1"]) == 2
    assert "SDY-" in capsys.readouterr().err


def _headlines(capsys: pytest.CaptureFixture[str], name: str, *flags: str) -> list[str]:
    """Return the collectives of an example with their causes, without the details."""
    (file,) = (path for path in EXAMPLES if path.stem == name)
    assert main(["explain", str(file), "--collectives", *flags]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]


def test_collectives_are_tied_to_what_causes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert _headlines(capsys, "matmul_case1") == ["no collectives: the devices do not communicate"]
    assert _headlines(capsys, "matmul_case2") == [
        'all-to-all along "x" at line 3: 192 bytes, caused by a conflict of propagation',
        'all-gather along "x", "y" at line 4: 1,344 bytes, caused by a conflict of propagation',
    ]
    assert _headlines(capsys, "matmul_case2", "--no-optimizer") == [
        'all-reduce along "x" at line 4: 2,304 bytes, caused by the op on shards'
    ]
    assert _headlines(capsys, "constraint_transpose", "--no-optimizer") == [
        'collective-permute along "x":(1)2, "y" at line 3: 128 bytes, caused by a conflict of propagation',
        'all-to-all along "x":(2)2 at line 3: 64 bytes, caused by a conflict of propagation',
        'all-gather along "x", "y" at line 11: 896 bytes, caused by an annotation',
    ]


def test_the_details_of_a_collective_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(CLASH), "--collectives"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert '    line 3  %arg1: annotated [{}, {"x"}]' in lines
    changed = "  the communication optimizer changed it: stablehlo.dot_general: resharded"
    assert any(line.startswith(changed) for line in lines)


def test_a_collective_has_the_edit_that_lint_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(program(FIRES["SDY-S417"]))
    found = sdy.load(path).without_optimizer().lint().findings
    (fix,) = (each.fix for each in found if each.code == "SDY-S417")
    assert main(["explain", str(path), "--collectives", "--no-optimizer"]) == 0
    assert f"  edit: {fix}" in capsys.readouterr().out
    assert main(["explain", str(path), "--collectives", "--no-optimizer", "--json"]) == 0
    assert str(fix) in [each["edit"] for each in json.loads(capsys.readouterr().out)["collectives"]]
