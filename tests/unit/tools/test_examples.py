"""The command `sdy examples`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.main import main


def test_all_examples_are_listed_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == EXAMPLE_NAMES
    assert lines[EXAMPLE_NAMES.index("matmul_case1")].endswith('  @main, 2 arguments, 1 result, mesh "x"=4 "y"=2')


def test_an_example_is_copied_with_its_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert main(["examples", "matmul_case1", "-o", str(folder)]) == 0
    program, arrays = map(Path, capsys.readouterr().out.splitlines())
    assert program.read_text() == next(path for path in EXAMPLES if path.stem == "matmul_case1").read_text()
    assert main(["verify", str(program), "--inputs", str(arrays)]) == 0
    assert main(["examples", "matmul_case1.mlir", "-o", str(folder)]) == 2
    assert "matmul_case1.mlir: File exists [SDY-T001]" in capsys.readouterr().err


def test_unknown_names_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "matmul_case9"]) == 2
    assert "unknown example matmul_case9 [SDY-T231]" in capsys.readouterr().err
    assert main(["examples", "-o", "somewhere"]) == 2
