"""`Program.show`: a frame in a notebook, and a file in a browser elsewhere."""

from __future__ import annotations

import sys
import webbrowser
from html import unescape
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.browser import answers, needs_browser
from support.examples import EXAMPLES

import sdy
from sdy.report.html.page import InlinePage, in_notebook

FILE = next(path for path in EXAMPLES if path.stem == "matmul_case1")


def test_outside_of_a_notebook_the_page_is_opened_in_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    path = sdy.load(FILE).show()
    assert isinstance(path, Path)
    try:
        assert opened == [path.as_uri()]
        assert path.read_text(encoding="utf-8") == sdy.load(FILE).report_html()
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("name", "module", "is_notebook"),
    [
        ("IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())), True),
        ("IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()), False),  # IPython in a terminal
        ("IPython", SimpleNamespace(get_ipython=lambda: None), False),  # imported by a script
        ("marimo", SimpleNamespace(running_in_notebook=lambda: True), True),
        ("marimo", SimpleNamespace(running_in_notebook=lambda: False), False),
    ],
)
def test_notebooks_are_recognized(
    name: str, module: object, is_notebook: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("IPython", "marimo"):
        monkeypatch.delitem(sys.modules, each, raising=False)
    monkeypatch.setitem(sys.modules, name, module)
    assert in_notebook() == is_notebook
    if is_notebook:
        page = sdy.load(FILE).show("h100", height=300)
        assert page == InlinePage(sdy.load(FILE).report_html("h100"), 300)


def test_the_frame_contains_the_page() -> None:
    page = InlinePage('<p title="a">&amp;</p>', 300)
    frame = str(methodcaller("_repr_html_")(page))
    assert "height:300px" in frame
    srcdoc = frame.partition('srcdoc="')[2].partition('"')[0]
    assert unescape(srcdoc) == page.html
    assert repr(page) == "InlinePage(height=300)"


@needs_browser
def test_the_page_runs_in_its_frame(tmp_path: Path) -> None:
    page = InlinePage(sdy.load(FILE).report_html())
    script = """
      const inner = document.querySelector("iframe").contentDocument;
      return { rows: inner.querySelectorAll("#rows .row").length, cards: inner.querySelectorAll(".card").length };
    """
    html = f"<html><body>{methodcaller('_repr_html_')(page)}</body></html>"
    found = answers(html, script, tmp_path)
    assert found["cards"] == 7
    assert isinstance(found["rows"], int)
    assert found["rows"] > 2
