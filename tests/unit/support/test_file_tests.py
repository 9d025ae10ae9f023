"""File tests that fail: what they print, and how `pytest --update` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.file_tests.run_lines import RunLineError, run, run_lines
from support.file_tests.update import update

LONGEST_LINE = 150
PROGRAM = """\
// RUN: sdy-opt %s --sdy-close-shardings | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.abs %x : tensor<8x8xf32>
  %1 = stablehlo.negate %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
EXPECTED = """
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<8x8xf32>
// CHECK-NEXT: %1 = stablehlo.negate %0 : tensor<8x8xf32>
// CHECK-NEXT: return %1 : tensor<8x8xf32>
"""


def file_test(folder: Path, checks: str) -> Path:
    path = folder / "close.mlir"
    path.write_text(PROGRAM + checks)
    return path


def failure(path: Path) -> str:
    (command,) = run_lines(path)
    with pytest.raises(RunLineError) as caught:
        run(command, path, path.parent / "t")
    return str(caught.value)


def test_a_failure_shows_the_directive_the_command_and_the_output(tmp_path: Path) -> None:
    path = file_test(tmp_path, EXPECTED.replace("negate %0", "negate %arg0"))
    message = failure(path)
    directive = "// CHECK-NEXT: %1 = stablehlo.negate %arg0 : tensor<8x8xf32>"
    line = path.read_text().splitlines().index(directive) + 1
    assert message.startswith(f"close.mlir:{line}: ")
    assert f"\n  {directive}\n" in message
    assert "\n  RUN: sdy-opt %s --sdy-close-shardings | filecheck %s\n" in message
    assert "\n>    4 |     %0 = stablehlo.abs %arg0 : tensor<8x8xf32>\n" in message
    assert message.count("stablehlo.negate %0") == 1
    assert f"pytest --update {os.path.relpath(path)}" in message


def test_a_tool_that_fails_shows_its_diagnostic(tmp_path: Path) -> None:
    path = file_test(tmp_path, EXPECTED)
    path.write_text(path.read_text().replace("stablehlo.abs %x", "stablehlo.abs %y"))
    assert "got exit code 1" in failure(path)
    assert "error" in failure(path)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("negate %0", "negate %arg0"),
        ('[{"a"}, {}]', '[{"b"}, {}]'),
        ("func.func @main(", "func.func @man("),
        ("// CHECK-NEXT: %1 = stablehlo.negate %0 : tensor<8x8xf32>\n", ""),
        ("// CHECK-NEXT: return", "// CHECK-NEXT: %7 = stablehlo.tanh\n// CHECK-NEXT: return"),
    ],
)
def test_update_restores_what_is_printed(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in EXPECTED
    path = file_test(tmp_path, EXPECTED.replace(right, wrong))
    failure(path)
    assert update(path, tmp_path / "t")
    (command,) = run_lines(path)
    run(command, path, tmp_path / "t")
    assert path.read_text().count("CHECK-NEXT") == 3


def test_update_leaves_what_output_alone_cannot_say(tmp_path: Path) -> None:
    path = file_test(tmp_path, EXPECTED + "// CHECK-NOT: return\n// CHECK: }\n" + "// CHECK-NOT: }\n")
    before = path.read_text()
    assert not update(path, tmp_path / "t")
    assert path.read_text() == before
    assert "CHECK-NOT" in failure(path)


def test_update_keeps_literal_lines_literal(tmp_path: Path) -> None:
    path, printed = tmp_path / "literal.mlir", "%c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"
    path.write_text(f"// RUN: sdy-opt %s | filecheck %s\n\n// CHECK: module\n// CHECK-NEXT{{LITERAL}}: %9\n{printed}\n")
    assert update(path, tmp_path / "t")
    assert f"// CHECK-NEXT{{LITERAL}}: {printed}" in path.read_text()


def test_update_writes_no_folder_of_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("// RUN: not sdy-opt %s 2>&1 | filecheck %s\n\nmodul {}\n\n// CHECK: wrong.mlir:7:7: error\n")
    assert update(path, tmp_path / "t")
    assert "// CHECK: wrong.mlir:3:1: error" in path.read_text()


def test_lines_of_programs_are_short_enough_to_read() -> None:
    """CHECK lines are exempt: they stand for one printed line each."""
    tests = Path(__file__).parents[2]
    long = [
        f"{path.relative_to(tests)}:{number}"
        for path in tests.rglob("*.mlir")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE and not line.lstrip().startswith("//")
    ]
    assert long == []
