"""Loads and partitions the program of a file, with diagnostics that show its lines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sdy.compile.compiled import Compiled
from sdy.cost.flops import unpriced_remark
from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span, render
from sdy.passes.export.optimize.remark_codes import SAVINGS
from sdy.program.program import Program
from sdy.tools.command_line.files import read_text

if TYPE_CHECKING:
    from sdy.program.pipeline import Pipeline

T = TypeVar("T")

MESH_TENSOR = "!mpmd.mesh_tensor"  # in the text of each program with values on meshes

VERBOSE_HELP = "list all entries, not one for several that differ only in names and lines"


def with_program(
    arguments: Namespace,
    use: Callable[[Program], T],
    path: str | None = None,
    use_pipeline: Callable[[Pipeline], T] | None = None,
    *,
    is_priced: bool = False,
) -> T:
    """Return `use(program)` for the program in a file; diagnostics show the lines that they refer to.

    The file is `arguments.file`, or `path`. The program is compiled as `add_compile_arguments` lets the user say. If it
    `is_priced`, a remark names its ops without a known cost. A program of several meshes is passed to `use_pipeline`;
    without one, it is refused.
    Raises: SdyError if the file cannot be read or is not a valid program, and any error that `use` raises.
    """
    file: str = path or arguments.file
    text = read_text(file)
    try:
        if use_pipeline is not None and MESH_TENSOR in text:
            from sdy.program.pipeline import Pipeline  # imported here, because few programs have several meshes

            return use_pipeline(Pipeline.from_text(text, file))
        program = Program.from_text(text, file)
        remark = unpriced_remark(program.module) if is_priced else None
        for warning in (*program.origin.warnings, *((remark,) if remark else ())):
            print(render(with_lines(warning, file, text.splitlines())), file=sys.stderr)
        program = program.without_optimizer() if arguments.no_optimizer else program
        return use(program.with_passes(propagation=arguments.propagation, pipeline=arguments.pass_pipeline))
    except SdyError as error:
        raise SdyError(*(with_lines(each, file, text.splitlines()) for each in error.diagnostics)) from error


def add_compile_arguments(parser: ArgumentParser, *, savings: bool = False) -> None:
    """Add the arguments that say by which passes a program is compiled; with `savings`, that lists the rewrites."""
    group = parser.add_argument_group("passes")
    optimizer = group.add_mutually_exclusive_group()
    optimizer.add_argument(
        "--no-optimizer",
        action="store_true",
        help="do not optimize communication: no sdy-optimize-communication, no sdy-combine-collectives",
    )
    if savings:
        optimizer.add_argument(
            "--savings",
            action="store_true",
            help="report the rewrites that reduce the bytes sent or combine collectives",
        )
    passes = group.add_mutually_exclusive_group()
    passes.add_argument(
        "--propagation",
        metavar="PASS",
        help="propagate by this pass, such as one of yours (default: sdy-user-priority-propagate)",
    )
    passes.add_argument(
        "--pass-pipeline",
        metavar="TEXT",
        help="compile by these passes to collectives on global tensors, in place of sdy-partition-pipeline: "
        "'builtin.module(pass,pass{option=value})'",
    )


def partition(program: Program, arguments: Namespace) -> Compiled:
    """Partition a program, and print the remarks to standard error; with `--savings`, those of the optimizer too."""
    partitioned = program.partition()
    lines = program.origin.text.splitlines()
    for remark in partitioned.remarks:
        if arguments.savings or remark.code not in SAVINGS:
            print(render(with_lines(remark, arguments.file, lines)), file=sys.stderr)
    return partitioned


def with_lines(diagnostic: Diagnostic, path: str, lines: list[str]) -> Diagnostic:
    """Return a diagnostic with the text of each line of the file at `path` that it refers to."""
    notes = tuple(Note(note.message, _with_line(note.span, path, lines)) for note in diagnostic.notes)
    return replace(diagnostic, span=_with_line(diagnostic.span, path, lines), notes=notes)


def _with_line(span: Span | None, path: str, lines: list[str]) -> Span | None:
    if span is None or span.text is not None or span.file != path or not 0 < span.line <= len(lines):
        return span
    return span._replace(text=lines[span.line - 1])
