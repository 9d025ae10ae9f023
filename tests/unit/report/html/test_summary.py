"""The summary of a program that notebooks show."""

from __future__ import annotations

import re
from operator import methodcaller
from pathlib import Path

from support.browser import answers, needs_browser
from support.examples import EXAMPLES

import sdy

FILE = next(path for path in EXAMPLES if path.stem == "matmul_case1")
STRANGE = FILE.read_text().replace('"x"', '"<b>x"')


def shown_in_notebooks(program: sdy.Program) -> str:
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


@needs_browser
def test_the_summary_takes_the_colours_of_the_page(tmp_path: Path) -> None:
    page = f'<html><body style="background:#000;color:#fff">{shown_in_notebooks(sdy.load(FILE))}</body></html>'
    script = "const cell = document.querySelector('td'); return { colour: getComputedStyle(cell).color };"
    assert answers(page, script, tmp_path) == {"colour": "rgb(255, 255, 255)"}
