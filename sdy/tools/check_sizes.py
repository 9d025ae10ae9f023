"""Checks the size limits of files, functions, classes and folders.

The limits are 400 lines per file, 60 lines per function, 15 methods per class and 20 modules per folder. Exceptions
are listed here, each with a reason.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

FILE_LIMIT, TABLE_LIMIT, FUNCTION_LIMIT, METHOD_LIMIT, FOLDER_LIMIT = 400, 800, 60, 15, 20
OVERSIZE: dict[str, str] = {
    "sdy/tools/command_line/output/documents.py": "one table of all JSON documents",
    "sdy/dialects/stablehlo/elementwise.py": "48 ops of a few lines each, all alike",
}
MANY_METHODS: dict[str, str] = {
    "sdy/program/program.py:Program": "the public API: one method per question that a user asks of a program",
}
MANY_MODULES: dict[str, str] = {
    "sdy/tools": "one file per command, which is imported by its name",
    "sdy/interpreter/ops": "one file per family of ops",
    "sdy/partitioner/local": "one file per family of ops",
    "sdy/dialects/stablehlo": "one file per family of ops",
}


def violations(root: Path) -> Iterator[str]:
    """Yield one line for each file, function, class and folder below `root / "sdy"` that is too large."""
    paths = sorted((root / "sdy").rglob("*.py"))
    named = {path.relative_to(root).as_posix(): path for path in paths}
    crowded: set[str] = set()
    for name, path in named.items():
        text = path.read_text()
        length, limit = text.count("\n"), TABLE_LIMIT if name in OVERSIZE else FILE_LIMIT
        if length > limit:
            yield f"{name}: {length} lines, at most {limit}"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                yield from _long_function(name, node)
            elif isinstance(node, ast.ClassDef) and (methods := _methods(node)) > METHOD_LIMIT:
                crowded.add(f"{name}:{node.name}")
                if f"{name}:{node.name}" not in MANY_METHODS:
                    yield f"{name}:{node.lineno}: {node.name} has {methods} methods, at most {METHOD_LIMIT}"
    yield from _crowded_folders(named.values(), root)
    yield from (f"{name}: listed as oversize, but does not exist" for name in OVERSIZE if name not in named)
    yield from (f"{name}: listed in MANY_METHODS without need" for name in MANY_METHODS if name not in crowded)


def _long_function(name: str, node: ast.FunctionDef) -> Iterator[str]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length > FUNCTION_LIMIT:
        yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LIMIT}"


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(member, ast.FunctionDef) for member in node.body)


def _crowded_folders(paths: Iterable[Path], root: Path) -> Iterator[str]:
    counts = Counter(path.parent.relative_to(root).as_posix() for path in paths if path.name != "__init__.py")
    for folder, count in sorted(counts.items()):
        if count > FOLDER_LIMIT and folder not in MANY_MODULES:
            yield f"{folder}: {count} modules side by side, at most {FOLDER_LIMIT}"


def main() -> int:
    """Print the violations; return 1 if there are any."""
    found = list(violations(Path(__file__).resolve().parents[2]))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
