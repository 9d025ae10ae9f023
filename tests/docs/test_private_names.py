"""docs/embedding.md lists every private name of xDSL that the code uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import xdsl

ROOT = Path(__file__).resolve().parents[2]
XDSL = Path(str(xdsl.__file__)).parent
# Names of our own classes that xDSL has in others.
OURS = {"_attributes", "_blocks", "_encode"}
PRIVATE = re.compile(r"_[a-z]\w*")


def private_names(path: Path) -> Iterator[str]:
    """Yield the private attributes, methods and fields that a module names, also as text of `setattr`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                if PRIVATE.fullmatch(name):
                    yield name
            case ast.Constant(value=str(name)) if PRIVATE.fullmatch(name):
                yield name
            case _:
                pass


def names_of(paths: list[Path]) -> set[str]:
    return {name for path in paths for name in private_names(path)}


def test_the_page_has_every_private_name_of_xdsl_in_use() -> None:
    theirs = names_of([*XDSL.glob("ir/*.py"), *XDSL.glob("parser/*.py"), XDSL / "printer.py"])
    used = names_of(sorted((ROOT / "sdy" / "dialects").rglob("*.py"))) & theirs
    _, _, table = (ROOT / "docs" / "embedding.md").read_text().partition("## Private names of xDSL in use")
    assert used - set(re.findall(r"\b(_\w+)`", table)) - OURS == set()
    assert set(re.findall(r"\b(_[a-z]\w+)`", table)) - used == set(), "no longer used"
