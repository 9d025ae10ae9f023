"""The parser of MLIR text: every op has its location, and every mistake is one diagnostic with a location.

It extends xDSL's parser with a faster lexer, templates of repeated lines, scopes of value names, and better messages.
"""

# pyright: reportPrivateUsage=false
# The types of values are read from private fields, as links are in `sdy.dialects.ir.walk`: properties are slow.

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import (
    LocationAttr,
    ModuleOp,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.context import load_dialects
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX
from sdy.dialects.text.scoped_parser import RepeatingParser
from sdy.dialects.text.source_lines import source_line_in_text
from sdy.dialects.text.unknown_ops import unknown_op_hint


class LocatingParser(RepeatingParser):
    """A parser of modules and ops.

    Raises: SdyError at the first mistake.
    """

    def __init__(self, context: Context, text: str, file: str) -> None:
        self._location_aliases = {}
        super().__init__(context, text, file)

    # Modules

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse all of the text: a module, or ops that are wrapped in one."""
        ops: list[Operation] = []
        while self._current_token.kind is not MLIRTokenKind.EOF:
            match self._current_token.kind:
                case MLIRTokenKind.HASH_IDENT | MLIRTokenKind.EXCLAMATION_IDENT:
                    self._parse_alias_def()
                case MLIRTokenKind.FILE_METADATA_BEGIN:
                    self._parse_file_metadata_dictionary()
                case _:
                    ops.append(self.parse_operation())
        self._check_all_defined()
        self._check_location_aliases()
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        module = ModuleOp(ops)
        module.location = self._location_at(0)
        return module

    # Ops

    def parse_operation(self) -> Operation:
        return self._parse_op()

    def parse_optional_operation(self) -> Operation | None:
        # Anything that does not end a region is parsed as an op, so that errors have the right location.
        ends = (MLIRTokenKind.R_BRACE, MLIRTokenKind.CARET_IDENT, MLIRTokenKind.EOF)
        return None if self._current_token.kind in ends else self._parse_op()

    def _parse_op(self) -> Operation:
        results = self._parse_op_result_list()
        name = self._current_token
        if name.kind is MLIRTokenKind.BARE_IDENT:
            op_class = self._op_class_of(name.text, name.span)
            self._consume_token()
            custom = CUSTOM_SYNTAX.get(op_class)
            parse = op_class.parse if custom is None else custom.parse
        elif name.kind is MLIRTokenKind.STRING_LIT:
            op_class = self._op_class_of(self.parse_str_literal(), name.span, is_generic=True)
            parse = self._generic_parser_of(op_class)
        else:
            self.raise_error("expected the name of an op", name.span)
        self._enclosing.append((op_class, name.span))
        op = parse(self)
        self._enclosing.pop()
        # The generic form includes the location.
        self._keep_location(name.span.start, self.parse_optional_location() or _named(op.location))
        op.location = self._location_at(name.span.start)
        if results:
            self._bind_results(op, results)
        return op

    def _generic_parser_of(self, op_class: type[Operation]) -> Callable[[Parser], Operation]:
        return lambda _: self._parse_generic_operation(op_class)

    def _op_class_of(self, name: str, span: Span, is_generic: bool = False) -> type[Operation]:
        full_name = name if "." in name or is_generic else f"{self._default_dialect()}.{name}"
        op_class = self.ctx.get_optional_op(full_name)
        if op_class is None or (issubclass(op_class, UnregisteredOp) and not is_generic):
            load_dialects(self.ctx)
            self.fail("SDY-P002", f"unknown op {name}", span, self._unknown_op_hint(name, is_generic=is_generic))
        return op_class

    def _unknown_op_hint(self, name: str, *, is_generic: bool) -> str | None:
        return unknown_op_hint(
            name,
            self._default_dialect(),
            [op.name for op in self.ctx.loaded_ops if not issubclass(op, UnregisteredOp)],
            is_generic=is_generic,
            allows_unknown=self.ctx.allow_unregistered,
        )

    def _bind_results(self, op: Operation, names: Sequence[tuple[Span, int]]) -> None:
        count = sum(size for _, size in names)
        if count != len(op.results):
            message = f"{op.name} has {counted(len(op.results), 'result')}, but {counted(count, 'name')}"
            self.fail("SDY-P009", message, names[0][0])
        first = 0
        for span, size in names:
            self._register_ssa_definition(span.text[1:], op.results[first : first + size], span)
            first += size


def _named(location: LocationAttr) -> LocationAttr | None:
    """Return the location that the generic form of an op includes; None if the text names none."""
    return None if isinstance(location, UnknownLoc) else location


def parse_text(context: Context, text: str, file: str) -> tuple[ModuleOp, LocatingParser]:
    """Return the module in a text, or a module of the ops at its top level, and the parser, which knows the locations.

    Raises: SdyError at the first mistake.
    """
    parser = LocatingParser(context, text, file)
    with located_errors(parser), garbage_collection_paused():
        return parser.parse_module(), parser


@contextmanager
def located_errors(parser: LocatingParser) -> Generator[None]:
    """Raise the errors of a parser as SdyError, with their locations in its text."""
    text = parser.lexer.input.content
    try:
        yield
    except SdyError as error:
        raise SdyError(*(_with_source_line(each, text) for each in error.diagnostics)) from None
    except (ParseError, VerifyException, RecursionError) as error:
        raise SdyError(_with_source_line(_diagnostic(error, parser), text)) from None


def _diagnostic(error: ParseError | VerifyException | RecursionError, parser: LocatingParser) -> Diagnostic:
    lines = parser.lines
    if isinstance(error, ParseError):
        message, span = error.msg, lines.span(error.span.start, error.span.end)
        return Diagnostic("SDY-P001", message[:1].lower() + message[1:], span)
    if isinstance(error, VerifyException):
        return Diagnostic("SDY-P001", str(error), lines.span(parser.consumed))
    return Diagnostic("SDY-P007", "the text is nested too deeply", lines.span(parser.consumed))


def _with_source_line(diagnostic: Diagnostic, text: str) -> Diagnostic:
    """Return a diagnostic with a note of the program's line from which the line of the mistake was generated."""
    source = "" if diagnostic.span is None else source_line_in_text(text, diagnostic.span.line)
    if not source:
        return diagnostic
    return replace(diagnostic, notes=(*diagnostic.notes, Note(f"generated from {source}")))
