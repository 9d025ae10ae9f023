"""Differences of programs: none for renamed and reordered ones, and each kind of change."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from support.examples import EXAMPLES
from xdsl.dialects.builtin import UnknownLoc

import sdy
from sdy.advice.matching import match_programs
from sdy.tools.main import main

HEAD = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'
PROGRAM = (
    HEAD
    + """\
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}) -> (tensor<8x8xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.abs %a : tensor<8x16xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x16xf32>
}
"""
)


def program(text: str) -> sdy.Program:
    return sdy.Program.from_text(text, "program.mlir")


def test_renamed_and_reordered_programs_are_equal() -> None:
    lines = PROGRAM.splitlines(keepends=True)
    reordered = "".join([*lines[:3], lines[6], *lines[3:6], *lines[7:]])
    renamed = re.sub(r"%(\w+)", r"%other_\1", reordered).replace("@m", "@mesh").replace("tanh %", "tanh  %")
    found = program(PROGRAM).diff(program(renamed.replace("@meshain", "@main")))
    assert not found, found
    assert str(found) == "no difference in ops, annotations, shardings or collectives"


def test_a_changed_annotation_is_named_with_its_consequences() -> None:
    found = program(PROGRAM).diff(program(PROGRAM.replace('[{}, {"y"}]', '[{"x"}, {}]')))
    (annotation,) = found.annotations
    assert str(annotation) == '%w: [{}, {"y"}] -> [{"x"}, {}]'
    assert [str(each) for each in found.shardings] == [
        '%w: [{}, {"y"}] -> [{"x"}, {}]',
        '%1: [{"x", ?}, {"y", ?}] -> [{"x", ?}, {?}]',
    ]
    came = [each for each in found.collectives if each.old is None]
    assert came
    assert came[0].new is not None
    assert came[0].new.line == 2
    assert any("%w: annotated" in line for line in came[0].causes)


def test_constraints_and_results_are_annotations() -> None:
    lines = PROGRAM.splitlines(keepends=True)
    constraint = '  %c = sdy.sharding_constraint %0 <@m, [{"x"}, {"y"}]> : tensor<8x16xf32>\n'
    text = "".join([*lines[:4], constraint, *lines[4:]]).replace("dot_general %0", "dot_general %c")
    text = text.replace("-> (tensor<8x8xf32>", "-> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}")
    found = program(PROGRAM).diff(program(text))
    assert [str(each) for each in found.annotations] == [
        '%0: none -> [{"x"}, {"y"}]',
        "result 0: none -> [{}, {}]",
    ]
    assert found.added_ops == found.removed_ops == 0


def test_ops_after_a_change_still_match() -> None:
    changed = PROGRAM.replace("stablehlo.tanh %a", "stablehlo.sine %a")
    found = program(PROGRAM).diff(program(changed))
    assert (found.added_ops, found.removed_ops) == (1, 1)
    assert not found.shardings
    assert not found.collectives


def test_every_op_of_an_example_matches_itself() -> None:
    for path in EXAMPLES:
        module = sdy.load(path).module
        matching = match_programs(module, module.clone())
        assert not matching.removed
        assert not matching.added
        for old, new in matching.ops.items():
            assert isinstance(old.location, UnknownLoc) or old.location == new.location


def test_thirty_changed_annotations_of_the_examples_are_named() -> None:
    rng = random.Random(31)
    for _ in range(30):
        path = rng.choice(EXAMPLES)
        text = path.read_text()
        annotations = list(re.finditer(r'#sdy\.sharding<@mesh, \[([^\]]*"[^\]]*)\]', text))
        chosen = rng.choice(annotations)
        without = re.sub(r'"\w+"', "", chosen[1], count=1).replace("{, ", "{")
        changed = text[: chosen.start(1)] + without + text[chosen.end(1) :]
        found = sdy.load(path).diff(sdy.Program.from_text(changed, path.name))
        assert len(found.annotations) == 1
        assert chosen[1] in found.annotations[0].old


def test_the_command_prints_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.mlir", tmp_path / "new.mlir"
    old.write_text(PROGRAM)
    new.write_text(PROGRAM.replace('[{}, {"y"}]', '[{"x"}, {}]'))
    assert main(["diff", str(old), str(old)]) == 0
    assert capsys.readouterr().out.startswith("no difference")
    assert main(["diff", str(old), str(new), "--on", "h100"]) == 1
    text = capsys.readouterr().out
    assert 'annotations\n  %w: [{}, {"y"}] -> [{"x"}, {}]\n' in text
    assert "on one device of h100\n  bytes sent: 0 -> " in text
    assert main(["diff", str(old), str(new), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["annotations"][0]["new"] == '[{"x"}, {}]'
    assert answer["new"]["bytes_sent"] > answer["old"]["bytes_sent"] == 0
    page = old.with_name("page.html")
    assert main(["diff", str(old), str(new), "--html", str(page)]) == 1
    assert '<span class="axis"' in page.read_text("utf-8")
    assert main(["diff", str(old), "absent.mlir"]) == 2
    assert "cannot read absent.mlir" in capsys.readouterr().err
