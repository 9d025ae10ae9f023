"""Every citation of the specification names a file, sections and labels that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
NUMBER = r"\d+(?:\.\d+)*"
ITEM = rf"{NUMBER}(?:\s+\([A-Z]+\d*[^)]*\))?"  # a section, and labels in it: `8.1 (G4, G7 to G9)`
CITATION = re.compile(rf"docs/spec/(?P<file>\d\d)(?P<list>,\s+{ITEM}(?:(?:,|,?\s+and|\s+to)\s+{ITEM})*)?")
SOURCES = sorted(
    path
    for folder in ("sdy", "tests")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".mlir", ".lark"} and path != Path(__file__)
)


@cache
def spec_text(number: str) -> str:
    """Return the text of a specification file. Raises: ValueError if there is not exactly one."""
    (path,) = SPEC.glob(f"{number}-*.md")
    return path.read_text()


@cache
def sections(number: str) -> frozenset[str]:
    return frozenset(re.findall(rf"^#+ ({NUMBER})\b", spec_text(number), flags=re.MULTILINE))


def unknown(citation: re.Match[str]) -> list[str]:
    """Return the section numbers and labels of a citation that its file does not have."""
    number, text = citation["file"], citation["list"] or ""
    missing = [f"section {name}" for name in re.findall(rf"(?<![\w.]){NUMBER}", text) if name not in sections(number)]
    labels = re.findall(r"(?<!\w)[A-Z]+\d*(?!\w)", text)
    return missing + [label for label in labels if not re.search(rf"(?<!\w){label}\d*(?!\w)", spec_text(number))]


def complaints(text: str) -> list[str]:
    """Return one line per citation in `text` that names something which does not exist."""
    unwrapped = re.sub(r"\n[ \t]*(#|//)?[ \t]*", " ", text)
    return [f"{found[0]}: no {name}" for found in CITATION.finditer(unwrapped) for name in unknown(found)]


@pytest.mark.parametrize("text", ["docs/spec/01, 77.1", "docs/spec/06, 8.1 (G999)", "docs/spec/05, 1.12 to\n    1.999"])
def test_a_wrong_citation_is_found(text: str) -> None:
    assert complaints(text)


def test_every_citation_in_the_code_exists() -> None:
    cited = {path: complaints(path.read_text()) for path in SOURCES}
    assert {path.name: found for path, found in cited.items() if found} == {}
    assert sum(len(CITATION.findall(path.read_text())) for path in SOURCES) > 150


def test_the_code_uses_no_other_form_of_citation() -> None:
    by_name = re.compile(r"\bspec of\b|\bSource: (section|spec)")
    assert [path.name for path in SOURCES if by_name.search(path.read_text())] == []
