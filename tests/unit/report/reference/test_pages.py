"""The generated reference is complete, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.passes import ModulePass

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.passes.manager.all import PASSES
from sdy.tools import make_reference
from sdy.tools.markdown import summary_of, table, text_of

DOCS = Path(__file__).resolve().parents[4] / "docs" / "reference"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors_of(page: str) -> set[str]:
    """Return the anchors of the headings of a page. Names of passes and ops are code."""
    headings = re.findall(r"^#+ +(.+)$", FENCED.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_pass_has_a_section_and_a_sentence() -> None:
    page = make_reference.PAGES["passes.md"]()
    assert re.findall(r"^## (\S+)$", page, re.MULTILINE) == sorted(PASSES)
    rows = re.findall(r"^\| \[`(\S+)`\]\(#\S+\) \| (.+) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == sorted(PASSES)
    assert all(sentence.endswith(".") for _, sentence in rows)
    assert "| `propagation-strategy` | text | `aggressive` |" in page
    assert "Source:" not in page


def test_every_op_and_attribute_is_there() -> None:
    page = make_reference.PAGES["ops.md"]()
    assert re.findall(r"^### (sdy\.\S+)$", page, re.MULTILINE) == sorted(op.name for op in SDY.operations)
    for kind in SDY.attributes:
        assert f"| `{kind.name}` | `#sdy" in page
    for op in (*STABLEHLO.operations, *CHLO.operations):
        assert page.count(f"| `{op.name}` |") == 1
    assert "| `stablehlo.dot` | `([i, k], [k, j]) -> ([i, j])`" in page


def test_docstrings_become_paragraphs() -> None:
    class Documented(ModulePass):
        """First words,
        on two lines.

            code

        Last words. Source: a book.
        """

    assert text_of(Documented) == ["First words,\non two lines.", "    code", "Last words."]
    assert summary_of("One.\n Two. Raises: all.\n\nThree.") == "One. Two."
    assert table(("a", "b"), [("x|y", "z")])[2] == "| x\\|y | z |"


def test_the_command_writes_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit of all rules takes ten seconds: tests/unit/evidence/audit/test_catalogue.py reads its page."""
    monkeypatch.setattr(make_reference, "SCHEMA", tmp_path / "schema.json")
    monkeypatch.setitem(make_reference.PAGES, "rules.md", lambda: "# Rules\n")
    assert make_reference.main([str(tmp_path / "pages")]) == 0
    pages = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert sorted(pages) == sorted(make_reference.PAGES)
    assert pages["passes.md"] == make_reference.PAGES["passes.md"]()
    anchors = {name: anchors_of(page) for name, page in pages.items()}
    for name, page in pages.items():
        for link, anchor in LINK.findall(FENCED.sub("", page)):
            target = link or name
            assert target in pages or (make_reference.SCHEMA.parent / link).exists() or (DOCS / link).exists(), link
            assert not anchor or anchor in anchors[target], f"{name}: {link}#{anchor}"
    assert (tmp_path / "schema.json").read_text() == (DOCS / "schema.json").read_text(), "run `make reference`"
