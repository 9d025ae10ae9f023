"""A program with other annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.edits import Change, edited
from sdy.advice.lint.annotated_text import text_with_changes
from sdy.compile.source_text import read_module
from sdy.compile.written_program import WrittenProgram
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import print_module

P = TypeVar("P", bound=WrittenProgram[Any])


def with_changes(program: P, changes: Sequence[Change]) -> P:
    """Return the program with changes to the annotations in its text."""
    text = text_with_changes(program.origin.text, program.module, changes)
    span = span_of(main_function(program.module))
    module = read_module(text, "<text>" if span is None else span.file)
    return replace(program, module=module, origin=program.origin.with_text(text))


def with_module(program: P, module: ModuleOp, changes: Sequence[Change] = ()) -> P:
    """Return the program with another module, and with changes to the annotations of its values."""
    if module is program.module:
        return with_changes(program, changes) if changes else program
    annotated, _ = edited(module, changes)
    return replace(program, module=annotated, origin=program.origin.with_text(print_module(annotated)))
