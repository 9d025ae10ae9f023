"""One clear line for what is unusual in a program: changed shardings, missing and unequal meshes, dynamic dims."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdy.tools.main import main

MESH = 'sdy.mesh @m = <["x"=4]>\n'
OTHER_MESH = 'sdy.mesh @n = <["y"=2]>\n'
BODY = """func.func @main(%a: tensor<{rows}x8xf32> {attributes}) -> tensor<{rows}x8xf32> {{
  %0 = stablehlo.tanh %a : tensor<{rows}x8xf32>
  return %0 : tensor<{rows}x8xf32>
}}
"""
SHARDED = '{sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}'


def messages(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, exit_code: int = 0) -> tuple[str, str]:
    """Return the output of `sdy verify`, and the first lines of its diagnostics."""
    file = tmp_path / "program.mlir"
    file.write_text(text)
    assert main(["verify", str(file)]) == exit_code
    printed = capsys.readouterr()
    return printed.out, "\n".join(line for line in printed.err.splitlines() if line.startswith(str(file)))


@pytest.mark.parametrize(("rows", "used"), [(6, '<@m, [{"x":(1)2}, {}]>'), (7, "<@m, [{}, {}]>")])
def test_a_sharding_of_an_argument_that_is_changed_or_dropped_is_a_remark(
    rows: int, used: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, remarks = messages(tmp_path, capsys, MESH + BODY.format(rows=rows, attributes=SHARDED))
    assert f'argument 0: <@m, [{{"x"}}, {{}}]> does not divide tensor<{rows}x8xf32>; using {used} [SDY-T232]' in remarks


def test_even_shardings_are_no_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert messages(tmp_path, capsys, MESH + BODY.format(rows=8, attributes=SHARDED))[1] == ""


def test_a_program_without_a_mesh_runs_on_one_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, _ = messages(tmp_path, capsys, BODY.format(rows=8, attributes=""))
    assert printed.startswith("no mesh: the program runs on one device\n")


def test_meshes_of_different_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = BODY.replace(
        "%a: tensor<{rows}x8xf32> {attributes}", "%a: tensor<8x8xf32> {first}, %b: tensor<8xf32> {second}"
    )
    second = '{sdy.sharding = #sdy.sharding<@n, [{"y"}]>}'
    text = MESH + OTHER_MESH + both.format(rows=8, first=SHARDED, second=second)
    _, (error) = messages(tmp_path, capsys, text, exit_code=2)
    assert "expected" not in error
    assert 'all meshes must have the same devices, got <@m, [{"x"}, {}]> on 4 devices and <@n, [{"y"}]> on 2' in error


def test_dynamic_dims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, error = messages(tmp_path, capsys, MESH + BODY.format(rows="?", attributes=SHARDED), exit_code=2)
    assert error.count("\n") == 0
    assert "got a result of type tensor<?x8xf32> [SDY-T103]" in error
