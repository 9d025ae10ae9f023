"""Writes what docs/architecture.md says of the packages: the picture of the floors, and the list of rooms.

The floors are those of the import contract in pyproject.toml, and the sentences those of the packages themselves.

python -m support.architecture_page
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
IMAGE = ROOT / "docs" / "images" / "architecture.svg"
START, END = "<!-- rooms: python -m support.architecture_page -->", "<!-- end of rooms -->"
WIDTH, FLOOR, GAP = 720, 44, 8
# What a box of the picture says of a package.
WORDS = {
    "advice": "lint, contracts, diff",
    "audit": "are rules right?",
    "backends": "to JAX",
    "compile": "module to local program",
    "cost": "bytes, seconds",
    "diagnostics": "codes, carets, hints",
    "dialects": "ops, text, checks of modules",
    "documents": "what --json prints",
    "downscale": "smaller sizes",
    "evidence": "is it right?",
    "extend": "for your ops and passes",
    "frontends": "from JAX",
    "grammar": "the notation",
    "interpreter": "NumPy on devices",
    "ir": "for modules in Python",
    "jax": "from JAX and to JAX",
    "language_server": "editors",
    "model": "meshes, shardings, rules as values",
    "mpmd": "several meshes",
    "partitioner": "collectives, ops on shards",
    "passes": "the pipelines of sdy-opt",
    "program": "the Program that you hold",
    "proof": "is it right?",
    "propagation": "the engine",
    "report": "why, in text and pictures",
    "rules": "op to sharding rule",
    "search": "which shardings?",
    "testing": "a pytest plugin",
    "tools": "commands",
    "upstream": "Shardy's own partitioner",
}


def floors() -> list[list[str]]:
    """Return the packages of each floor, the top floor first: a package imports only those of lower floors."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in settings if each["name"] == "imports go one way")
    return [[name.strip().removeprefix("sdy.") for name in layer.split(":")] for layer in layers]


def picture() -> str:
    """Return the floors as an SVG image."""
    rows = floors()
    height = len(rows) * (FLOOR + GAP) + GAP
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
            *(box for number, row in enumerate(rows) for box in _boxes(row, GAP + number * (FLOOR + GAP))),
            "</svg>\n",
        )
    )


def _boxes(row: list[str], top: int) -> Iterator[str]:
    width = (WIDTH - GAP) // len(row)
    for number, name in enumerate(row):
        left = GAP + number * width
        middle = left + (width - GAP) // 2
        box = f'x="{left}" y="{top}" width="{width - GAP}" height="{FLOOR}"'
        yield f'<rect {box} rx="5" fill="#e8eaf6" stroke="#3f51b5"/>'
        yield f'<text x="{middle}" y="{top + 19}" text-anchor="middle" font-size="16" fill="#1a237e">{name}</text>'
        words = f'font-size="13" fill="#333333">{escape(WORDS[name])}</text>'
        yield f'<text x="{middle}" y="{top + 36}" text-anchor="middle" {words}'


def rooms() -> str:
    """Return the list of packages and their rooms, in the order of the floors."""
    return "\n".join(line for row in floors() for name in row for line in _package(name))


def _package(name: str) -> Iterator[str]:
    folder = ROOT / "sdy" / name
    yield f"* **`{name}`**: {first_sentence(folder / '__init__.py' if folder.is_dir() else folder.with_suffix('.py'))}"
    for room in _rooms_in(folder):
        inner = [f"`{each.name}`" for each in _rooms_in(room)]
        yield f"    * `{room.name}`: {first_sentence(room / '__init__.py')}" + (
            f" Inside: {', '.join(inner)}." if inner else ""
        )


def _rooms_in(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def first_sentence(module: Path) -> str:
    """Return the first sentence of the docstring of a module, on one line. Raises: ValueError if it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{module} needs a docstring that says what is there")
    return re.split(r"(?<=[.!?])\s", " ".join(docstring.partition("\n\n")[0].split()))[0]


def with_rooms(page: str) -> str:
    """Return the page with the list of rooms between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{rooms()}\n\n{END}{after}"


def main() -> None:
    """Write the picture and the list."""
    IMAGE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(with_rooms(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
