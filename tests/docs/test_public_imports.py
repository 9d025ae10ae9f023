"""Pages, notebooks and examples import from sdy, sdy.extend and sdy.ir alone, whose names are those that stay."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sdy

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {"sdy": sdy, "sdy.extend": sdy.extend, "sdy.ir": sdy.ir, "sdy.ir.stablehlo": sdy.ir.stablehlo}
# Pages about the code itself.
INTERNAL = (ROOT / "docs" / "spec", ROOT / "docs" / "decisions", ROOT / "docs" / "examples" / "one_matmul")
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sources() -> Iterator[Path]:
    """Yield the pages, notebooks and examples."""
    yield ROOT / "README.md"
    for pattern in ("*.md", "*.ipynb", "*.py"):
        for path in sorted((ROOT / "docs").rglob(pattern)):
            if not any(folder in path.parents for folder in (*INTERNAL, ROOT / "docs" / "site")):
                yield path


def blocks(path: Path) -> list[str]:
    """Return the Python code of a page, a notebook or an example."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [text]
    if path.suffix == ".ipynb":
        return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return CODE.findall(text)


def names(code: str) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of everything that code takes from sdy: `from sdy.ir import x`, `sdy.x`."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "sdy":
                yield from ((module, alias.name) for alias in node.names)
            case ast.Import():
                modules = (alias.name for alias in node.names if alias.name.startswith("sdy."))
                yield from ((module, "") for module in modules)
            case ast.Attribute(value=ast.Name(id="sdy")):
                yield "sdy", node.attr
            case _:
                pass


SOURCES = list(sources())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_public_names_are_used(path: Path) -> None:
    for code in blocks(path):
        for module, name in names(code):
            assert module in PUBLIC, f"from {module} import {name}"
            assert not name or name.startswith("__") or hasattr(PUBLIC[module], name), f"{module}.{name}"


@pytest.mark.parametrize("module", ["sdy", "sdy.extend", "sdy.ir"])
def test_the_reference_has_every_public_name(module: str) -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    shown = set(re.findall(rf"^::: {re.escape(module)}\.(\w+)$", page, re.MULTILINE)) | set(
        re.findall(r"`(\w+)`", page)
    )
    missing = set(PUBLIC[module].__all__) - shown - {"extend", "ir", "mpmd", "stablehlo"}
    assert missing == set()


def test_many_names_are_found() -> None:
    found = {module for path in SOURCES for code in blocks(path) for module, _ in names(code)}
    assert found == set(PUBLIC)


def test_other_modules_are_found() -> None:
    code = "import sdy\nimport sdy.model.mesh\nfrom sdy.cost import flops\nsdy.load('x')\n"
    assert sorted(names(code)) == [("sdy", "load"), ("sdy.cost", "flops"), ("sdy.model.mesh", "")]
