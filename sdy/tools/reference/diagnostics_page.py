"""Generates the reference page of diagnostics: the cause, the cure and, for most codes, an example of each.

An example is a file CODE.txt in docs/reference/diagnostics: a command after `$ `, and the program example.mlir.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from sdy.diagnostics.codes import CODES
from sdy.report.reference.markdown import page, table
from sdy.tools.main import main as sdy
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "reference" / "diagnostics"
FILE = "example.mlir"
TOOLS: dict[str, Callable[[Sequence[str]], int]] = {"sdy": sdy, "sdy-opt": sdy_opt, "sdy-run": sdy_run}
SUBJECTS = {
    "P": "Text that does not parse",
    "S": "Shardings and meshes",
    "R": "Sharding rules",
    "D": "Ops that do not verify",
    "T": "Tools, passes and files",
    "C": "Broken contracts",
    "L": "Programs of one device",
    "V": "Proofs",
    "X": "Execution",
    "N": "Notebooks, editors and web pages",
}
_TITLE = """\
# Diagnostics

An error, a warning or a remark ends with its code in brackets. Codes are stable; messages may get clearer. This page
has the cause and the cure of each code, and an example where one fits: a program in `example.mlir`, and a command. In
Python, an `SdyError` has its `diagnostics`."""


def diagnostics_page() -> str:
    """Return the text of the page."""
    return page(_TITLE, *(block for letter, title in SUBJECTS.items() for block in _subject(letter, title)))


def example_output(text: str) -> str:
    """Run the command of an example in an empty directory that has its program; return its standard error.

    The file that the diagnostics name is example.mlir.
    """
    command, _, program = text.partition("\n")
    tool, *arguments = shlex.split(command.removeprefix("$ "))
    printed = StringIO()
    with TemporaryDirectory() as folder, chdir(folder):
        if program:
            Path(FILE).write_text(program, encoding="utf-8")
        with redirect_stdout(StringIO()) as output, redirect_stderr(printed):
            TOOLS[tool](arguments)
    return printed.getvalue() or output.getvalue()


def _subject(letter: str, title: str) -> Iterator[str | list[str]]:
    codes = sorted(code for code in CODES if code.startswith(f"SDY-{letter}"))
    yield f"## {title}"
    yield table(("code", "cause"), ((f"[{code}](#{code.lower()})", CODES[code].cause) for code in codes))
    for code in codes:
        yield f"### {code}"
        yield f"{CODES[code].cause} **Cure:** {CODES[code].fix}"
        example = EXAMPLES / f"{code}.txt"
        if example.exists():
            yield from _example(example.read_text(encoding="utf-8"))


def _example(text: str) -> Iterator[str]:
    command, _, program = text.partition("\n")
    if program:
        yield f"```mlir\n{program.rstrip()}\n```"
    yield f"```text\n{command}\n{example_output(text).rstrip()}\n```"
