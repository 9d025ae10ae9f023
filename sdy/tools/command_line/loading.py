"""Reading a program from a file, with diagnostics that show its lines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.diagnostics.render import render
from sdy.diagnostics.span import Span
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program
from sdy.tools.command_line.files import read_text

T = TypeVar("T")

SAVINGS = ("SDY-L120", "SDY-L121", "SDY-L122", "SDY-L125")
NO_OPTIMIZER_HELP = "send what propagation calls for: no sdy-optimize-communication, no sdy-combine-collectives"


def with_program(path: str, use: Callable[[Program], T]) -> T:
    """What `use` makes of the program in the file; its diagnostics carry the lines that they point at.

    Raises: SdyError where the file cannot be read, or is no valid program, and whatever `use` raises.
    """
    return with_program_and_text(path, lambda program, _: use(program))


def with_program_and_text(path: str, use: Callable[[Program, str], T]) -> T:
    """As `with_program`, for those who need what the user wrote as well."""
    text = read_text(path)
    try:
        return use(Program.from_text(text, path), text)
    except SdyError as error:
        raise SdyError(*(_with_lines(each, path, text.splitlines()) for each in error.diagnostics)) from error


def add_optimizer_arguments(parser: ArgumentParser) -> None:
    """The arguments by which the optimizer is switched off, or asked what it did."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    group.add_argument(
        "--savings", action="store_true", help="tell by which rewrites less is sent, or in fewer launches"
    )


def partition(program: Program, path: str, text: str, *, savings: bool = False) -> PartitionedProgram:
    """The program of `text`, partitioned; what was remarked meanwhile is printed on standard error.

    `savings`: also what the optimizer of communication did.
    """
    partitioned = program.partition()
    for remark in partitioned.remarks:
        if remark.code in SAVINGS and not savings:
            continue
        print(render(_with_lines(remark, path, text.splitlines())), file=sys.stderr)
    return partitioned


def _with_lines(diagnostic: Diagnostic, path: str, lines: list[str]) -> Diagnostic:
    notes = tuple(Note(note.message, _with_line(note.span, path, lines)) for note in diagnostic.notes)
    return replace(diagnostic, span=_with_line(diagnostic.span, path, lines), notes=notes)


def _with_line(span: Span | None, path: str, lines: list[str]) -> Span | None:
    if span is None or span.text is not None or span.file != path or not 0 < span.line <= len(lines):
        return span
    return replace(span, text=lines[span.line - 1])
