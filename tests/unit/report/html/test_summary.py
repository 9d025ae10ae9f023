"""The summary of a program that notebooks show."""

from __future__ import annotations

import re
from html import unescape
from operator import methodcaller

from support.examples import EXAMPLES

import sdy

FILE = next(path for path in EXAMPLES if path.stem == "matmul_case1")
MLP = next(path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
STRANGE = FILE.read_text().replace('"x"', '"<b>x"')


def shown_in_notebooks(program: object) -> str:
    """Return the result of the method that IPython calls."""
    return str(methodcaller("_repr_html_")(program))


def text_of(html: str) -> str:
    """Return the text of a fragment: without markup, and with a space between the cells of a table."""
    return unescape(re.sub("<[^>]*>", "", html.replace("</td>", " ").replace("</th>", " ")))


def test_the_summary_lists_meshes_arguments_and_results() -> None:
    shown = text_of(shown_in_notebooks(sdy.load(FILE)))
    assert 'Program(@main, 2 arguments, 1 result, mesh "x"=4 "y"=2)' in shown
    for part in ("@mesh x=4 y=2 8 devices", "%arg0", "tensor<16x32xf32>", "[{x}, {}]", "result"):
        assert part in shown


def test_the_summary_escapes_names() -> None:
    assert "<b>x" not in shown_in_notebooks(sdy.Program.from_text(STRANGE))


def test_the_representation_is_one_line() -> None:
    assert "\n" not in repr(sdy.load(FILE))


def test_stages_of_a_program_are_shown_as_tables() -> None:
    program = sdy.load(MLP)
    propagated, partitioned = shown_in_notebooks(program.propagate()), shown_in_notebooks(program.partition())
    for shown, name in ((propagated, "PropagatedProgram"), (partitioned, "Compiled")):
        text = text_of(shown)
        assert f"{name}(@main, 10 arguments, 9 results" in text
        for part in ("data=4 model=2", "batch[0]", "16x24xf32", "[{data}, {}]"):
            assert part in text
    assert "all-reduce" not in propagated
    assert "all-reduce" in partitioned
    assert "42,562" in partitioned


def test_plans_are_shown_as_tables_and_in_one_line() -> None:
    plan = sdy.load(FILE).search(mesh="x=4", time_limit=5)
    assert re.fullmatch(r"ShardingPlan\(x=4; predicted time .+ -> .+\)", repr(plan))
    text = text_of(shown_in_notebooks(plan))
    for line in plan.report().splitlines():
        if line.endswith("."):
            assert line.split(".")[0] in text
    assert "predicted time" in text
    assert "bytes sent" in text


def test_names_in_tables_are_escaped() -> None:
    assert "<b>x" not in shown_in_notebooks(sdy.Program.from_text(STRANGE).propagate())
