"""Invalid input to the tools: one located diagnostic, exit code 2, no traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdy.interpreter.arrays.element_types import Array
from sdy.tools.main import main

MESH = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'


def function(sharding: str, body: str = "return %a : tensor<8x8xf32>") -> str:
    """Return a function of one argument on line 2, with its body on line 3."""
    argument = f"%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<{sharding}>}}"
    return f"{MESH}func.func @main({argument}) -> tensor<8x8xf32> {{\n  {body}\n}}\n"


def op(text: str) -> str:
    """Return a function with the op on line 3."""
    return function("@m, [{}, {}]", f"%0 = {text}\n  return %0 : tensor<8x8xf32>")


RECURSION = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

# what is wrong: text, line, a part of the message, a part of the line under which the caret stands
CASES: dict[str, tuple[str, int, str, str]] = {
    "unknown mesh": (function('@other, [{"x"}, {}]'), 2, "@other", "%a"),
    "unknown axis": (function('@m, [{"z"}, {}]'), 2, '"z"', "%a"),
    "axis used twice": (function('@m, [{"x"}, {"x"}]'), 2, '"x"', "%a"),
    "overlapping sub-axes": (function('@m, [{"x":(1)2}, {"x":(1)2}]'), 2, '"x":(1)2', "%a"),
    "axis whole and in part": (function('@m, [{"x"}, {"x":(1)2}]'), 2, '"x"', "%a"),
    "sub-axis too large": (function('@m, [{"x":(2)4}, {}]'), 2, '"x":(2)4', "%a"),
    "too few dims": (function("@m, [{}]"), 2, "2", "%a"),
    "too many dims": (function("@m, [{}, {}, {}]"), 2, "3", "%a"),
    "replicated axis cuts a dim": (function('@m, [{"x"}, {}], replicated={"x"}'), 2, '"x"', "%a"),
    "bad priority": (function('@m, [{"x"}p01, {}]'), 2, "p01", "p01"),
    "question mark first": (function('@m, [{?, "x"}, {}]'), 2, "", ', "x"'),
    "recursion": (RECURSION, 5, "is recursive", "func.func private @f"),
    "mesh with two equal axes": ('sdy.mesh @m = <["x"=2, "x"=2]>\n', 1, '"x"', '"x"'),
    "mesh with an empty axis": ('sdy.mesh @m = <["x"=0]>\n', 1, "0", '"x"'),
    "device ids that do not fit": ('sdy.mesh @m = <["x"=2], device_ids=[0, 2]>\n', 1, "2", '"x"'),
    "unknown op": (op("stablehlo.ad %a, %a : tensor<8x8xf32>"), 3, "stablehlo.ad", "stablehlo.ad"),
    "undefined value": (op("stablehlo.add %a, %b : tensor<8x8xf32>"), 3, "%b", "%b"),
    "type mismatch": (op("stablehlo.add %a, %a : tensor<4x8xf32>"), 3, "tensor<4x8xf32>", "%a, %a"),
    "wrong result type": (
        op("stablehlo.transpose %a, dims = [1, 1] : (tensor<8x8xf32>) -> tensor<8x8xf32>"),
        3,
        "",
        "stablehlo.transpose",
    ),
    "end of file": (f"{MESH}func.func @main(%a: tensor<8x8xf32>) {{\n", 3, "}", ""),
    "sharding cut short": (
        f"{MESH}func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@m, [{{",
        2,
        "",
        "",
    ),
    "call of nothing": (op("func.call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>"), 3, "@f", "func.call"),
    "two functions of one name": (
        "func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}\n",
        4,
        "f",
        "func.func",
    ),
    "constraint on another rank": (
        op("sdy.sharding_constraint %a <@m, [{}]> : tensor<8x8xf32>"),
        3,
        "expected a sharding of 2 dims, got 1",
        "sdy.sharding_constraint",
    ),
    "redefined value": (function("@m, [{}, {}]", "%a = stablehlo.abs %a : tensor<8x8xf32>"), 3, "%a", "%a"),
}


@pytest.mark.parametrize("name", CASES)
def test_invalid_programs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, line, message, pointed_at = CASES[name]
    file = tmp_path / "wrong.mlir"
    file.write_text(text)
    assert main(["verify", str(file)]) == 2
    head, shown, caret, *_ = capsys.readouterr().err.splitlines()
    place = head.removeprefix(f"{file}:").split(":")
    assert int(place[0]) == line
    assert place[2] == " error"
    assert message in head
    column = int(place[1])
    source = text.split("\n")[line - 1]
    assert shown == f"  {source}"
    assert caret.index("^") == column + 1
    assert source[column - 1 :].startswith(pointed_at)


def test_an_empty_file_has_no_main_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.mlir"
    file.write_text("")
    assert main(["verify", str(file)]) == 2
    assert "expected a function named @main" in _one_error(capsys)


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partition", str(tmp_path / "none.mlir")]) == 2
    assert "none.mlir: No such file" in _one_error(capsys)


def test_a_binary_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "binary.mlir"
    file.write_bytes(bytes(range(256)))
    assert main(["verify", str(file)]) == 2
    assert f"{file}:" in _one_error(capsys)


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 2
    assert "directory" in _one_error(capsys)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"arg0": np.zeros((4, 8), np.float32)}, "[4, 8]"),
        ({"arg0": np.zeros((8, 8), np.float64)}, "float64"),
        (
            {"arg0": np.zeros((8, 8), np.float32), "arg1": np.zeros(3)},
            "expected 1 inputs for the arguments of @main, got 2",
        ),
        ({"other": np.zeros(3)}, "expected 1 inputs for the arguments of @main, got 0"),
        (
            {
                "arg0": np.zeros((8, 8), np.float32),
                "out0": np.zeros((8, 8), np.float32),
                "out1": np.zeros((8, 8), np.float32),
            },
            "2 expected outputs",
        ),
    ],
)
def test_arrays_that_do_not_match_the_arguments(
    arrays: dict[str, Array], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, stored = tmp_path / "right.mlir", tmp_path / "wrong.npz"
    program.write_text(function('@m, [{"x"}, {}]'))
    np.savez(stored, **arrays)  # pyright: ignore[reportArgumentType] -- no key is called allow_pickle
    assert main(["verify", str(program), "--inputs", str(stored)]) == 2
    assert message in _one_error(capsys)


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 cut short"])
def test_files_without_arrays_are_errors(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, stored = tmp_path / "right.mlir", tmp_path / "wrong.npz"
    program.write_text(function('@m, [{"x"}, {}]'))
    stored.write_bytes(content)
    assert main(["verify", str(program), "--inputs", str(stored)]) == 2
    assert "wrong.npz" in _one_error(capsys)


def test_wrong_outputs_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, stored = tmp_path / "right.mlir", tmp_path / "wrong.npz"
    program.write_text(function('@m, [{"x"}, {}]'))
    zeros = np.zeros((8, 8), np.float32)
    np.savez(stored, arg0=zeros, out0=zeros + 1)
    assert main(["verify", str(program), "--inputs", str(stored)]) == 1
    assert "1 of 1 outputs differ" in capsys.readouterr().out


def test_an_unknown_command_is_an_error_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verfy", "x.mlir"]) == 2
    assert "did you mean verify?" in capsys.readouterr().err


def _one_error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the single diagnostic that was printed."""
    text = capsys.readouterr().err
    assert text.count("error: ") == 1
    assert "Traceback" not in text
    return text
