"""Generates the reference pages of diagnostics, with cause, cure and mostly an example of each, and of rules.

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
from sdy.evidence.audit.audit_rule import RuleAudit
from sdy.evidence.audit.catalogue.all import NOT_AUDITED
from sdy.evidence.audit.summary import OpSummary, audit_catalogue
from sdy.grammar.write import write_rule
from sdy.tools.main import main as sdy
from sdy.tools.markdown import page, table
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run

_RULES_TITLE = """\
# Sharding rules, audited

Each rule is checked by running its op on a catalogue of small programs, with each element of the operands changed in
turn: `sdy audit` does so. A rule is **sound** if running the op on
shards, combined as the kinds of its factors say, gives what the whole op gives. It is **complete** if no further dims
could be tied. [Adding a dialect](../extending.md#checking-a-rule) shows how to audit rules of your own."""

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "reference" / "diagnostics"
FILE = "example.mlir"
TOOLS: dict[str, Callable[[Sequence[str]], int]] = {"sdy": sdy, "sdy-opt": sdy_opt, "sdy-run": sdy_run}
SUBJECTS = {
    "P": "Text that does not parse",
    "S": "Shardings and meshes",
    "R": "Sharding rules",
    "D": "Ops that do not verify",
    "T": "Tools, passes and files",
    "M": "Programs on several meshes",
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


def rules_page() -> str:
    """Return the text of the page. It takes about ten seconds, because all programs are run."""
    summaries = audit_catalogue()
    plain = [each for each in summaries if not each.unsound and not each.incomplete]
    listed = ", ".join(f"`{each.op}`" for each in plain)
    programs = sum(each.programs for each in summaries)
    incomplete = [
        _row(each, each.incomplete, each.incomplete[0].missing[0])
        for each in summaries
        if each.incomplete and not each.unsound
    ]
    unsound = [_row(each, each.unsound, each.unsound[0].problems[0]) for each in summaries if each.unsound]
    return page(
        _RULES_TITLE,
        "## Sound and complete",
        f"The rules of {len(plain)} of {len(summaries)} ops, on {programs} programs in all: {listed}.",
        "## Sound on all programs, not complete",
        table(("op", "programs", "not complete", "example", "reason"), incomplete),
        "## Not sound on some programs",
        table(("op", "programs", "not sound", "example", "reason"), unsound),
        "## Not audited",
        table(("op", "reason"), ([f"`{op}`", reason] for op, reason in NOT_AUDITED.items())),
    )


def _row(summary: OpSummary, found: list[RuleAudit], finding: str) -> list[str]:
    """Return the cells of an op with findings, with the first of them as an example."""
    example = f"`{write_rule(found[0].rule)}`: {finding}"
    return [f"`{summary.op}`", str(summary.programs), str(len(found)), example, " ".join(summary.reasons)]
