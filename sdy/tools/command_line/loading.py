"""Loads and partitions the program of a file, with diagnostics that show its lines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, render
from sdy.diagnostics.span import Span
from sdy.passes.export.optimize.remark_codes import SAVINGS
from sdy.program.program import Program
from sdy.tools.command_line.files import read_text

T = TypeVar("T")

NO_OPTIMIZER_HELP = "do not optimize communication: no sdy-optimize-communication, no sdy-combine-collectives"
VERBOSE_HELP = "list all entries, not one for several that differ only in names and lines"


def with_program(path: str, use: Callable[[Program], T]) -> T:
    """Return `use(program)` for the program in a file; diagnostics show the lines that they refer to.

    Raises: SdyError if the file cannot be read or is not a valid program, and any error that `use` raises.
    """
    return with_program_and_text(path, lambda program, _: use(program))


def with_program_and_text(path: str, use: Callable[[Program, str], T]) -> T:
    """Return `use(program, text)` for the program in a file; see `with_program`."""
    text = read_text(path)
    try:
        program = Program.from_text(text, path)
        for warning in program.origin.warnings:
            print(render(with_lines(warning, path, text.splitlines())), file=sys.stderr)
        return use(program, text)
    except SdyError as error:
        raise SdyError(*(with_lines(each, path, text.splitlines()) for each in error.diagnostics)) from error


def add_optimizer_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that disable the communication optimizer or report its rewrites."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--no-optimizer", action="store_true", help=NO_OPTIMIZER_HELP)
    group.add_argument(
        "--savings", action="store_true", help="report the rewrites that reduce the bytes sent or combine collectives"
    )


def with_optimizer_option(program: Program, arguments: Namespace) -> Program:
    """Return the program, to be partitioned with the communication optimizer unless --no-optimizer is given."""
    return program.without_optimizer() if arguments.no_optimizer else program


def partition(program: Program, path: str, text: str, *, savings: bool = False) -> Compiled:
    """Partition a program whose text is `text`, and print the remarks to standard error.

    With `savings`, also print the remarks of the communication optimizer.
    """
    partitioned = program.partition()
    for remark in partitioned.remarks:
        if remark.code in SAVINGS and not savings:
            continue
        print(render(with_lines(remark, path, text.splitlines())), file=sys.stderr)
    return partitioned


def with_lines(diagnostic: Diagnostic, path: str, lines: list[str]) -> Diagnostic:
    """Return a diagnostic with the text of each line of the file at `path` that it refers to."""
    notes = tuple(Note(note.message, _with_line(note.span, path, lines)) for note in diagnostic.notes)
    return replace(diagnostic, span=_with_line(diagnostic.span, path, lines), notes=notes)


def _with_line(span: Span | None, path: str, lines: list[str]) -> Span | None:
    if span is None or span.text is not None or span.file != path or not 0 < span.line <= len(lines):
        return span
    return span._replace(text=lines[span.line - 1])
