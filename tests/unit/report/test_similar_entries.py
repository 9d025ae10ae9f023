"""Reports on programs of many layers show one of several entries that differ only in names and lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.lint_programs import FIRES, SILENT, chain, program

import sdy
from sdy.report.similar_entries import MOST_ENTRIES, groups_of_similar, on_one_screen, without_names
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
    return re.findall(r"^  (line \d+): %\d+ = stablehlo.dot", report, re.MULTILINE)


def test_short_lists_have_all_entries() -> None:
    text = layers(3)
    program = sdy.Program.from_text(text)
    assert program.report() == program.report(verbose=True)
    assert all(f"line {line}: " in program.report() for line in range(3, 6))


def test_long_lists_are_folded() -> None:
    report = sdy.Program.from_text(layers(LAYERS)).report()
    assert f'│ *      │ [{{"x"}}, {{}}] │ {LAYERS + 2:5} │' in report  # all arguments and results are sharded alike
    assert conflicting_ops(report) == []
    assert f"  {LAYERS} ops read arguments that are stored in shards\n  ... {LAYERS} in all: `sdy explain" in report
    gathers = [line.split("│") for line in report.splitlines() if "all-gather" in line]
    runs = [[cell.strip() for cell in row[1:5:3]] for row in gathers]
    assert runs == [["1", "8x8, 8x8"], [str(LAYERS - 2), "8x8"]]  # two gathers are combined


def test_a_weight_that_is_gathered_is_stored_in_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "layers.mlir").write_text(layers(1))
    assert main(["explain", "--collectives", str(tmp_path / "layers.mlir")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"all-gather .*, caused by an argument that is stored in shards", out), out


def test_of_many_collectives_the_dearest_are_shown() -> None:
    sharded = [f"%{layer + 1} = stablehlo.tanh %{layer} =X{layer % 2} : T" for layer in range(12)]
    text = program(chain("%0: T X1", "\n".join(sharded)))
    report = sdy.Program.from_text(text).without_optimizer().report(width=120)
    assert (
        """
   8.65 MB  100 %  11 all-to-all along "x" (conflict)
                   line 3, line 4 and 9 more
"""
        in report
    )
    assert len(re.findall(r"^  line \d+: %\d+ = stablehlo.tanh", report, re.MULTILINE)) == 3
    assert "  ... 13 in all: `sdy explain --conflicts` lists them with reasons" in report


def test_what_a_person_reads_first_is_one_screen() -> None:
    report = sdy.Program.from_text(layers(LAYERS)).report()
    assert report.count("\n") <= 60
    assert max(map(len, (line for line in report.splitlines() if "│" in line))) <= 80


def test_an_axis_that_activations_lose_is_the_diagnosis() -> None:
    report = sdy.Program.from_text(program(FIRES["SDY-S417"]), "p.mlir").without_optimizer().report()
    assert 'diagnosis: line 3: "x" is lost at %0 = stablehlo.dot_general' in report
    edit = report[report.index("  edit: ") :].split("\narguments", 1)[0]
    wanted = "edit: constrain %0 to [{\"x\", ?}, {?}] or P('x', P.UNCONSTRAINED): saves 2,359,296 bytes sent"
    assert wanted in " ".join(edit.split())
    assert max(map(len, edit.splitlines())) <= 80
    assert "diagnosis" not in sdy.Program.from_text(program(SILENT["SDY-S417"])).report()


def test_verbose_report_has_all_entries() -> None:
    report = sdy.Program.from_text(layers(LAYERS)).report(verbose=True)
    assert all(f"%arg{number} " in report for number in range(LAYERS + 1))
    assert conflicting_ops(report) == [f"line {layer + 3}" for layer in range(LAYERS)]


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
    assert f"│ *      │ replicated │ {LAYERS + 1:5} │" in short
    assert main(["verify", "--full", "-v", str(path), "--inputs", str(arrays)]) == 0
    assert "more" not in capsys.readouterr().out


def test_the_edit_for_a_program_from_jax_is_the_line_to_write() -> None:
    text = program(FIRES["SDY-S417"])
    named = re.sub(r"%(\w)(: tensor\S+ \{sdy.sharding = \S+, \[\S+, \S+\]>\})", r'%\1\2 loc("\1")', text)
    traced = re.sub(r"(%0 = .*)", r'\1 loc("model.py":27:4)', named)
    report = sdy.Program.from_text(traced).without_optimizer().report()
    expected = "edit: x = jax.lax.with_sharding_constraint(x, P('x', P.UNCONSTRAINED)) for x: tensor<"
    assert expected in " ".join(report.split())
    assert "> of model.py:27: saves 2,359,296 bytes sent" in report


def test_long_texts_end_with_the_screen() -> None:
    texts = ["a\nb\nc"] * 30
    assert on_one_screen(texts) == [*texts[:19], "... and 11 more; -v lists all"]
    assert on_one_screen(texts, verbose=True) == texts
    assert on_one_screen(texts[:19]) == texts[:19]
    assert on_one_screen(["a\n" * 100, "b"]) == ["a\n" * 100, "... and 1 more; -v lists all"]


def test_broken_contracts_and_findings_are_one_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "layers.mlir").write_text(layers(LAYERS))
    names = [f"\"%w{layer}\" = '[{{}}, {{}}]'" for layer in range(LAYERS)]
    (tmp_path / "contract.toml").write_text("\n".join(["[shardings]", *names]))
    command = ["check", str(tmp_path / "layers.mlir"), "--contract", str(tmp_path / "contract.toml")]
    assert main(command) == 1
    short = capsys.readouterr().err
    assert short.count("\n") <= 60
    assert short.splitlines()[-1].endswith("more; -v lists all")
    assert main([*command, "-v"]) == 1
    assert capsys.readouterr().err.count("is sharded") >= LAYERS
    assert str(sdy.Program.from_text(layers(LAYERS)).lint()).count("\n") <= 60
