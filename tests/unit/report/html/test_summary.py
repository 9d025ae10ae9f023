"""The summary of a program that notebooks show."""

from __future__ import annotations

import re
from html import unescape
from operator import methodcaller
from pathlib import Path

from support.browser import answers, needs_browser
from support.examples import EXAMPLES

import sdy

FILE = next(path for path in EXAMPLES if path.stem == "matmul_case1")
MLP = next(path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
STRANGE = FILE.read_text().replace('"x"', '"<b>x"')


def shown_in_notebooks(program: object) -> str:
    """Return the result of the method that IPython calls."""
    return str(methodcaller("_repr_html_")(program))


def test_the_summary_lists_meshes_arguments_and_results() -> None:
    shown = re.sub("<[^>]*>", " ", shown_in_notebooks(sdy.load(FILE)))
    assert "Program(@main, 2 arguments, 1 result, mesh &quot;x&quot;=4 &quot;y&quot;=2)" in shown
    for part in ("@mesh: x=4, y=2, 8 devices", "%arg0", "tensor<16x32xf32>", '[{"x"}, {}]', "result"):
        assert part.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;") in shown


def test_the_summary_loads_nothing_sets_no_colour_and_escapes_names() -> None:
    fragment = shown_in_notebooks(sdy.Program.from_text(STRANGE))
    assert not re.search(r"(src|href|url|import)\b|#[0-9a-f]{3}", fragment)
    assert "<b>x" not in fragment


def test_the_representation_is_one_line() -> None:
    assert "\n" not in repr(sdy.load(FILE))


def test_stages_of_a_program_are_shown_as_tables() -> None:
    program = sdy.load(MLP)
    propagated, partitioned = shown_in_notebooks(program.propagate()), shown_in_notebooks(program.partition())
    for shown, name in ((propagated, "PropagatedProgram"), (partitioned, "PartitionedProgram")):
        text = unescape(re.sub("<[^>]*>", " ", shown))
        assert f"{name}(@main, 10 arguments, 9 results" in text
        for part in ("x=4 y=2", "%arg8", "16x24xf32", '[{"x"}, {}]'):
            assert part in text
        assert not re.search(r"(src|href|url|import)\b|#[0-9a-f]{3}", shown)
        assert len(shown) < 200_000
    assert "all-reduce" not in propagated
    assert "all-reduce" in partitioned
    assert "42,562" in partitioned


def test_plans_are_shown_as_tables_and_in_one_line() -> None:
    plan = sdy.load(FILE).search(mesh="x=4", time_limit=5)
    assert re.fullmatch(r"ShardingPlan\(x=4; predicted time .+ -> .+\)", repr(plan))
    text = unescape(re.sub("<[^>]*>", " ", shown_in_notebooks(plan)))
    for line in plan.report().splitlines():
        if line.endswith("."):
            assert line.split(".")[0] in text
    assert "predicted time" in text
    assert "bytes sent" in text


def test_names_in_tables_are_escaped() -> None:
    assert "<b>x" not in shown_in_notebooks(sdy.Program.from_text(STRANGE).propagate())


@needs_browser
def test_the_summary_takes_the_colours_of_the_page(tmp_path: Path) -> None:
    page = f'<html><body style="background:#000;color:#fff">{shown_in_notebooks(sdy.load(FILE))}</body></html>'
    script = "const cell = document.querySelector('td'); return { colour: getComputedStyle(cell).color };"
    assert answers(page, script, tmp_path) == {"colour": "rgb(255, 255, 255)"}
