"""Reports on programs of many layers show one of several entries that differ only in names and lines."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sdy
from sdy.report.similar_entries import MOST_ENTRIES, groups_of_similar, without_names
from sdy.tools.main import main

LAYERS = MOST_ENTRIES + 5
WEIGHT = 'tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'


def layers(count: int) -> str:
    """Return a program whose layers each gather a weight: its contracting dim is sharded along the axis of the rows."""
    weights = ", ".join(f"%w{layer}: {WEIGHT}" for layer in range(count))
    lines = [
        f"  %{layer + 1} = stablehlo.dot %{layer}, %w{layer} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>"
        for layer in range(count)
    ]
    return "\n".join(
        [
            'sdy.mesh @mesh = <["x"=2]>',
            f'func.func @main(%0: tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, {weights})'
            " -> tensor<16x8xf32> {",
            *lines,
            f"  return %{count} : tensor<16x8xf32>",
            "}",
        ]
    )


def conflicting_ops(report: str) -> list[str]:
    return re.findall(r"^  (line \d+): %\d+ = stablehlo.dot$", report, re.MULTILINE)


def test_short_lists_have_all_entries() -> None:
    text = layers(4)
    program = sdy.Program.from_text(text)
    assert program.report() == program.report(verbose=True)
    assert all(f"line {line}: " in program.report() for line in range(3, 7))


def test_long_lists_have_one_of_several_similar_entries() -> None:
    report = sdy.Program.from_text(layers(LAYERS)).report()
    assert f"%arg1 and {LAYERS - 1} more" in report
    assert conflicting_ops(report) == ["line 3", "line 4"]  # the first layer reads an argument
    assert f"likewise at line 5, line 6, line 7 and {LAYERS - 5} more" in report
    gathers = [line.split("│") for line in report.splitlines() if "all-gather" in line]
    runs = [[cell.strip() for cell in row[1:5:3]] for row in gathers]
    assert runs == [["1", "8x8, 8x8"], [str(LAYERS - 2), "8x8"]]  # two gathers are combined


def test_verbose_report_has_all_entries() -> None:
    report = sdy.Program.from_text(layers(LAYERS)).report(verbose=True)
    assert all(f"%arg{number} " in report for number in range(LAYERS + 1))
    assert conflicting_ops(report) == [f"line {layer + 3}" for layer in range(LAYERS)]


def test_rest_of_a_long_list_of_different_entries_is_counted() -> None:
    arguments = ", ".join(f"%{size}: tensor<{size}xf32>" for size in range(1, LAYERS + 1))
    text = f"func.func @main({arguments}) -> tensor<1xf32> {{\n  return %1 : tensor<1xf32>\n}}"
    report = sdy.Program.from_text(text).report()
    assert f"... and {LAYERS + 1 - MOST_ENTRIES} more; -v lists all" in report


@pytest.mark.parametrize("question", ["--conflicts", "--collectives"])
def test_explanations_have_one_of_several_similar_entries(
    question: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path_factory.mktemp("layers") / "layers.mlir"
    path.write_text(layers(LAYERS))
    assert main(["explain", question, str(path)]) == 0
    short = capsys.readouterr().out
    assert main(["explain", question, "-v", str(path)]) == 0
    verbose = capsys.readouterr().out
    assert short.count("\n") * 10 < verbose.count("\n")
    assert "likewise" in short
    assert "likewise" not in verbose


def test_names_and_lines_are_left_out() -> None:
    text = "line 7: %27#1 = stablehlo.add: dim 0 of params['layers'][3]['up'] at model.py:12"
    assert without_names(text) == "%: % = stablehlo.add: dim 0 of params['layers']%['up'] at model%"


def test_groups_are_in_the_order_of_their_first_entries() -> None:
    numbers = list(range(MOST_ENTRIES + 1))
    assert [group[:2] for group in groups_of_similar(numbers, lambda number: number % 3, verbose=False)] == [
        [0, 3],
        [1, 4],
        [2, 5],
    ]
    assert len(groups_of_similar(numbers, lambda number: number % 3, verbose=True)) == len(numbers)


def test_outputs_with_the_largest_errors_are_shown(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path_factory.mktemp("outputs") / "outputs.mlir"
    types = ", ".join(["tensor<2xf32>"] * LAYERS)
    lines = [f"  %{index} = stablehlo.add %x, %x : tensor<2xf32>" for index in range(LAYERS)]
    returned = ", ".join(f"%{index}" for index in range(LAYERS))
    body = "\n".join([*lines, f"  return {returned} : {types}"])
    path.write_text(f"func.func @main(%x: tensor<2xf32>) -> ({types}) {{\n{body}\n}}")
    arrays = path.with_suffix(".npz")
    np.savez(arrays, arg0=np.ones(2, np.float32))
    assert main(["verify", "--full", str(path), "--inputs", str(arrays)]) == 0
    short = capsys.readouterr().out
    assert f"... and {LAYERS - MOST_ENTRIES} more; -v lists all" in short
    assert f"result[0] and {LAYERS - 1} more" in short
    assert main(["verify", "--full", "-v", str(path), "--inputs", str(arrays)]) == 0
    assert "more" not in capsys.readouterr().out
