"""The text of all programs at hand: those of the file tests and the examples, and those inside of Python tests."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
MAX_PROGRAM_LENGTH = 20_000  # characters
EMBEDDED = re.compile(r'(f?)"""(.*?)"""', re.DOTALL)
FIELD = re.compile(r"\{[^{}]*\}")


@cache
def programs() -> tuple[str, ...]:
    """Return the programs in files, split at `// -----`."""
    folders = (TESTS, TESTS.parent / "sdy" / "examples")
    paths = sorted(path for folder in folders for path in folder.rglob("*.mlir"))
    texts = [part for path in paths for part in path.read_text().split("// -----")]
    return tuple(text for text in texts if text.strip() and len(text) <= MAX_PROGRAM_LENGTH)


@cache
def runnable_programs() -> tuple[str, ...]:
    """Return the programs with a main function: those in files, and those in Python tests without other fields."""
    sources = [path.read_text() for path in sorted(TESTS.rglob("*.py"))]
    embedded = [match for source in sources for match in EMBEDDED.finditer(source)]
    texts = [match[2] for match in embedded if not match[1]]
    texts += [match[2].replace("{{", "{").replace("}}", "}") for match in embedded if _has_no_field(match)]
    return tuple(_with_main(text) for text in (*programs(), *texts) if "func.func" in text)


def _has_no_field(match: re.Match[str]) -> bool:
    """Return whether an f-string has no field to fill in."""
    return bool(match[1]) and not FIELD.search(match[2].replace("{{", "").replace("}}", ""))


def _with_main(text: str) -> str:
    """Return the program without comments, and with its first function as the main one if it has none."""
    text = re.sub(r"(?m)^\s*//.*\n", "", text)
    return text if "@main" in text else re.sub(r"(func\.func (?:public |private )?)@\w+", r"\1@main", text, count=1)
