"""The findings of `sdy lint` in a text, with the edits that fix them, and the program of one device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sdy.advice.lint.annotated_text import Replacement, replacements
from sdy.advice.lint.settings import LintSettings, read_settings
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.toml_tables import nearest_pyproject
from sdy.dialects.module_text import print_module
from sdy.program.program import Program


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix of `sdy lint` that was tried: what it does, and the edits of the text, as offsets.

    A safe one raises neither bytes, time nor memory, so that `sdy lint --fix` applies it.
    """

    title: str
    edits: tuple[Replacement, ...]
    is_safe: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding of `sdy lint`, and its fix if there is one."""

    diagnostic: Diagnostic
    remedy: Remedy | None


def advice(text: str, file: str, machine: str | None) -> list[Advice]:
    """Return the findings in the text of a program, with the settings of the nearest pyproject.toml.

    `machine` overrides the machine of the settings. Raises: SdyError if the program cannot be partitioned, SDY-T240 if
    the settings are malformed, SDY-T209 if the machine is unknown.
    """
    settings = _settings(Path(file))
    program = Program.from_text(text, file)
    report = program.lint(settings if machine is None else replace(settings, machine=machine))
    found: list[Advice] = []
    for each in report.findings:
        remedy = None
        if each.fix is not None:
            edits = replacements(text, program.module, each.fix.fix.changes)
            remedy = Remedy(each.fix.fix.text, tuple(edits), each.is_fixable)
        found.append(Advice(each.diagnostic(), remedy))
    return found


def _settings(file: Path) -> LintSettings:
    path = nearest_pyproject(file.parent)
    return LintSettings() if path is None else read_settings(path.read_text(encoding="utf-8"), str(path))


def local_program(text: str, file: str) -> str:
    """Return the text of the program that each device runs. Raises: SdyError if the program cannot be partitioned."""
    return print_module(Program.from_text(text, file).partition().local)
