"""Docstrings, comments, messages and pages avoid openings and words that have a standard or plainer form.

Each entry says what to write instead. An exception is a file, a phrase in it, and the reason why it stays.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sorted((ROOT / "sdy").rglob("*.py"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = ROOT / "docs" / "decisions"  # history, which is never rewritten

OPENINGS = {
    "What": "a verb, or the noun phrase itself",
    "Of": "a sentence that begins with its subject or verb",
    "Whether": "Return whether ..., Check that ...",
    "Which": "Return the ... that ...",
    "Where": "Return the position or location of ...",
    "How": "Return the number or the way ...",
    "By": "a sentence that begins with its verb",
    "Said": "Call this ...",
    "Made": "Create ...",
    "Lets": "a verb that says what happens",
    "Gives": "Return ...",
    "Puts": "Insert ...",
}
PHRASES = {
    r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|larger\b|smaller\b)[a-z]": "is not a ..., expected a ...",
    r"\bthere is nothing to\b": "expected at least one ...",
    r"\bbehind\b": "after",
    r"\bin front of\b": "before",
    r"\b(?:cut|cuts|cutting|uncut|recut)\b": "sharded, split, sliced, truncated",
    r"\bpieces?\b": "shard, slice, block",
    r"\bwhole (?:tensor|value|dim|array|matri|operand|result|row)": "unsharded, global, full",
    r"\bkept whole\b": "kept unsharded",
    r"\blaunch(?:es|ed)?\b": "collective, combined",
    r"\bwants?\b|\bwanted\b": "requires, expects, expected, target",
    r"\bbrings? (?:it|them|about|to one)\b": "reshard, move, convert",
    r"\blets? (?:go|all|both|every)\b": "a verb that says what happens",
    r"\btells? (?:of|apart)\b": "describe, distinguish",
    r"\bspelled\b|\bspells? out\b": "written, list",
    r"\bsays? so\b": "reports it",
    r"\bhand(?:s|ed)? on\b": "forward, propagate",
    r"\bmakers?\b": "producer",
}
# File, phrase -> why it stays.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text and not _is_property(node):
                yield getattr(node, "lineno", 1), text


def _is_property(node: ast.AST) -> bool:
    """Return whether a docstring describes an attribute: `Whether all outputs agree.`"""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(getattr(each, "id", "").endswith("property") for each in decorators)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, and the strings in it that contain a blank, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        is_text = token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
        if token.type == tokenize.COMMENT or (is_text and " " in token.string):
            yield token.start[0], token.string


def page_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page outside of code blocks, without inline code."""
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        is_code ^= line.startswith("```")
        if not is_code:
            yield number, re.sub(r"`[^`]*`", "", line)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def banned(texts: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield line and advice for each banned phrase."""
    for number, text in texts:
        for pattern, instead in PHRASES.items():
            for found in re.finditer(pattern, text):
                yield number + text.count("\n", 0, found.start()), f"{found[0]!r}: {instead}"


def complaints(path: Path) -> list[str]:
    found: list[str] = []
    if path.suffix == ".py":
        for line, text in docstrings(path):
            first = text.split(maxsplit=1)[0]
            if first in OPENINGS:
                found.append(f"{name_of(path)}:{line}: a docstring begins with {first!r}: {OPENINGS[first]}")
    texts = prose(path) if path.suffix == ".py" else page_prose(path)
    for line, advice in banned(texts):
        if not any(file == name_of(path) and advice.startswith(repr(phrase)) for file, phrase in EXCEPTIONS):
            found.append(f"{name_of(path)}:{line}: {advice}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        '"""What an op does."""\n',
        '"""Whether it may go."""\n',
        "x = 1  # put it behind the op\n",
        'message = f"{x} is no integer"\n',
        '"""Return the tensor, which is cut by an axis."""\n',
    ],
)
def test_a_banned_word_is_found(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(text)
    assert complaints(path)


@pytest.mark.parametrize("folder", sorted({name_of(path.parent) for path in PYTHON}))
def test_the_code_reads_plainly(folder: str) -> None:
    found = [line for path in PYTHON if name_of(path.parent) == folder for line in complaints(path)]
    assert found == [], "\n" + "\n".join(found)


def test_the_pages_read_plainly() -> None:
    pages = [path for path in PAGES if DECISIONS not in path.parents]
    found = [line for path in pages for line in complaints(path)]
    assert found == [], "\n" + "\n".join(found)


def test_every_exception_is_needed() -> None:
    for file, phrase in EXCEPTIONS:
        assert re.search(rf"\b{re.escape(phrase)}", (ROOT / file).read_text()), (file, phrase)
