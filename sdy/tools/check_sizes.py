"""Checks the sizes of files, functions and folders, and the number of lines of the whole package.

The limits are 600 lines per file, 60 lines per function and 20 modules per folder. A module with one importer and under
60 lines joins it if both are in one folder, unless it is a pass, or the folder has a file per family of ops. `lines` in
the table [tool.sdy.sizes] of pyproject.toml is the budget of the package: who raises it says what the lines bring.
Exceptions are listed here, each with a reason.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FILE_LIMIT, TABLE_LIMIT, FUNCTION_LIMIT, FOLDER_LIMIT, JOINED_BELOW = 600, 800, 60, 20, 60
TABLES: dict[str, str] = {
    "sdy/documents/kinds.py": "one table of all JSON documents",
    "sdy/dialects/stablehlo/elementwise.py": "48 ops of a few lines each, all alike",
}
MANY_MODULES: dict[str, str] = {
    "sdy/tools": "one file per command, which is imported by its name",
    "sdy/interpreter/ops": "one file per family of ops",
    "sdy/partitioner/local": "one file per family of ops",
    "sdy/dialects/stablehlo": "one file per family of ops",
    "sdy/evidence/proof": "one file per kind of lemma",
}
FAMILIES = re.compile(
    r"sdy/(rules|interpreter/ops|partitioner/(local|padding)|dialects/stablehlo(/checks)?|evidence/(audit/catalogue|sizes/ops))/"
)
SMALL: dict[str, str] = {
    "sdy/passes/manager/auto_partitioner.py": "what an embedder registers",
    "sdy/tools/start.py": "the console scripts",
}


def violations(root: Path) -> Iterator[str]:
    """Yield one line for each limit that a file, function or folder below `root / "sdy"` does not keep."""
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in sorted((root / "sdy").rglob("*.py"))}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    for name, text in texts.items():
        length, limit = text.count("\n"), TABLE_LIMIT if name in TABLES else FILE_LIMIT
        if length > limit:
            yield f"{name}: {length} lines, at most {limit}"
        for node in ast.walk(trees[name]):
            if isinstance(node, ast.FunctionDef):
                yield from _long_function(name, node)
    yield from _crowded_folders(texts)
    yield from _crumbs(texts, trees)
    yield from _over_budget(root, texts)
    yield from (f"{name}: listed here, but does not exist" for name in (*TABLES, *SMALL) if name not in texts)


def _long_function(name: str, node: ast.FunctionDef) -> Iterator[str]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length > FUNCTION_LIMIT:
        yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LIMIT}"


def _crowded_folders(names: Iterable[str]) -> Iterator[str]:
    counts = Counter(name.rpartition("/")[0] for name in names if not name.endswith("/__init__.py"))
    for folder, count in sorted(counts.items()):
        if count > FOLDER_LIMIT and folder not in MANY_MODULES:
            yield f"{folder}: {count} modules side by side, at most {FOLDER_LIMIT}"


def _crumbs(texts: Mapping[str, str], trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield small modules with one importer. Modules that a text names, as tables of lazy imports do, are kept."""
    modules = {name.removesuffix(".py").replace("/", "."): name for name in texts}
    importers: dict[str, set[str]] = defaultdict(set)
    named: set[str] = set()
    for name, tree in trees.items():
        for module in _imported(tree):
            if module in modules:
                importers[modules[module]].add(name)
        strings = re.findall(r'"(sdy\.[\w.]+)"', texts[name])
        named.update(each for text in strings for each in (text, text.rpartition(".")[0]))
    for name, found in sorted(importers.items()):
        length, module = texts[name].count("\n"), name.removesuffix(".py").replace("/", ".")
        is_kept = name in SMALL or FAMILIES.match(name) or module in named or re.search(r"class \w+Pass\(", texts[name])
        importer = min(found)
        is_beside = importer.rpartition("/")[0] == name.rpartition("/")[0]
        if len(found) == 1 and is_beside and length < JOINED_BELOW and not is_kept:
            yield f"{name}: {length} lines and one importer: join {importer}"


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))


def _over_budget(root: Path, texts: Mapping[str, str]) -> Iterator[str]:
    budget = int(tomllib.loads((root / "pyproject.toml").read_text())["tool"]["sdy"]["sizes"]["lines"])
    total = sum(text.count("\n") for text in texts.values())
    if total > budget:
        yield f"sdy: {total:,} lines, at most {budget:,}: see [tool.sdy.sizes] in pyproject.toml"


def main() -> int:
    """Print the violations; return 1 if there are any."""
    found = list(violations(Path(__file__).resolve().parents[2]))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
