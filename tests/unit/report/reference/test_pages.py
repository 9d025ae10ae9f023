"""The generated reference in docs/ is up to date and complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.passes import ModulePass

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.passes.manager.all import PASSES
from sdy.report.reference.markdown import summary_of, table, text_of
from sdy.tools import make_reference
from sdy.tools.reference.rules_page import rules_page


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


def test_the_command_writes_the_pages_in_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare all pages but the audit of all rules, which tests/unit/evidence/audit/test_catalogue.py compares."""
    docs = make_reference.FOLDER
    folder = tmp_path / "reference"
    monkeypatch.setattr(make_reference, "FOLDER", folder)
    assert make_reference.PAGES["rules.md"] is rules_page
    monkeypatch.setitem(make_reference.PAGES, "rules.md", (docs / "rules.md").read_text)
    assert make_reference.main() == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(make_reference.PAGES)
    outdated = [path.name for path in folder.iterdir() if path.read_bytes() != (docs / path.name).read_bytes()]
    assert outdated == [], "run `make reference`"
