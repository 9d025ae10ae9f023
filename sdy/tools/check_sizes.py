"""Fails where a file or a function has grown past what one can read: 400 lines a file, 60 a function.

Tables of ops may reach 600 lines, each listed here with its reason.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LIMIT, TABLE_LIMIT, FUNCTION_LIMIT = 400, 600, 60
OVERSIZE: dict[str, str] = {
    "sdy/diagnostics/codes.py": "one table of all diagnostics, two sentences each",
    "sdy/dialects/stablehlo/elementwise.py": "48 ops of a few lines each, all alike",
}


def complaints(root: Path) -> Iterator[str]:
    """One line for each file and function below `root` that is too long."""
    for path in sorted((root / "sdy").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        length, limit = text.count("\n"), TABLE_LIMIT if name in OVERSIZE else FILE_LIMIT
        if length > limit:
            yield f"{name}: {length} lines, at most {limit}"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LIMIT:
                    yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LIMIT}"
    yield from (f"{name}: listed as oversize, but is not there" for name in OVERSIZE if not (root / name).exists())


def main() -> int:
    """Print the complaints; 1 where there are any."""
    found = list(complaints(Path(__file__).resolve().parents[2]))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
