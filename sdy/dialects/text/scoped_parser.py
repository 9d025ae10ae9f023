"""A parser of regions and blocks, and of the names of values and blocks in them.

xDSL copies the table of names for every region; this parser removes the names of a region when the region ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import cache
from typing import NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, AttributeInvT, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, Parser, Position, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.diagnostics.diagnostic import Note
from sdy.diagnostics.wording import counted, similar_name_hint
from sdy.dialects.ir.fast_ops import append_op, make_location
from sdy.dialects.text.location_parser import LocationParser


class ScopedParser(LocationParser):
    """A parser of regions, which resolves the names of values and blocks in their scopes."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        self._file = StringAttr(file)
        self._scope: list[str] = []  # names defined in the region that is being parsed
        self._forward_spans: dict[str, Span] = {}  # first uses of names that are not defined yet
        self._enclosing: list[tuple[type[Operation], Span]] = []  # ops whose regions are being parsed, and their names
        self._resolved: list[tuple[int, SSAValue]] = []  # operands of the op that is being parsed, with offsets
        super().__init__(context, text, file)

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        if self.parse_optional_punctuation("{") is None:
            return None
        is_isolated = _is_isolated(self._enclosing[-1][0]) if self._enclosing else False
        outer_names = (self.ssa_values, self.forward_ssa_references, self._forward_spans)
        outer_scope, outer_blocks = self._scope, (self.blocks, self.forward_block_references)
        self.forward_ssa_references, self._forward_spans = {}, {}
        if is_isolated:
            self.ssa_values = {}
        self._scope, self.blocks, self.forward_block_references = [], {}, defaultdict(list)
        region = self._parse_blocks(None if arguments is None else list(arguments))
        if is_isolated:
            self._check_isolated(outer_names[0])
            self._check_all_defined()
            self.ssa_values, self.forward_ssa_references, self._forward_spans = outer_names
        else:
            for name in self._scope:
                del self.ssa_values[name]
            self._leave_forward_references(*outer_names[1:])
        self._scope = outer_scope
        self.blocks, self.forward_block_references = outer_blocks
        return region

    def _leave_forward_references(
        self, references: dict[str, dict[int, ForwardDeclaredValue]], spans: dict[str, Span]
    ) -> None:
        """Add the names that are still undefined at the end of a region to those of the enclosing region."""
        for name, used in self.forward_ssa_references.items():
            outer = references.setdefault(name, {})
            for index, value in used.items():
                known = outer.setdefault(index, value)
                if known is not value:
                    if known.type != value.type:
                        self._fail_type(name, value.type, known.type, self._forward_spans[name])
                    value.replace_all_uses_with(known)
            spans.setdefault(name, self._forward_spans[name])
        self.forward_ssa_references, self._forward_spans = references, spans

    def _parse_blocks(self, arguments: list[Parser.Argument] | None) -> Region:
        region = Region()
        if arguments is not None or self._current_token.kind not in (MLIRTokenKind.CARET_IDENT, MLIRTokenKind.R_BRACE):
            entry = Block(arg_types=[argument.type for argument in arguments or ()])
            for block_argument, argument in zip(entry.args, arguments or (), strict=True):
                if argument.location is not None:
                    block_argument.location = argument.location
            for value, argument in zip(entry.args, arguments or (), strict=True):
                self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
            self._parse_block_body(entry)
            region.add_block(entry)
        while self.parse_optional_punctuation("}") is None:
            if self._current_token.kind is MLIRTokenKind.EOF:
                self.raise_error("expected } before the end of the text")
            region.add_block(self._parse_block())
        for name, uses in self.forward_block_references.items():
            self.fail("SDY-P003", f"undefined block ^{name}", uses[0])
        return region

    def _parse_block(self) -> Block:
        span = self._parse_token(MLIRTokenKind.CARET_IDENT, "expected an op, a block or }").span
        name = span.text[1:]
        block, definition = self.blocks.get(name, (Block(), None))
        if definition is not None:
            self.fail("SDY-P004", f"^{name} is already defined", span, "rename one of the two definitions")
        self.blocks[name] = (block, span)
        self.forward_block_references.pop(name, None)
        self._parse_optional_block_arg_list(block)
        self.parse_punctuation(":")
        self._parse_block_body(block)
        return block

    def _parse_block_body(self, block: Block) -> None:
        while (op := self.parse_optional_operation()) is not None:
            append_op(block, op)

    def parse_optional_successor(self) -> Block | None:
        token = self._parse_optional_token(MLIRTokenKind.CARET_IDENT)
        if token is None:
            return None
        name = token.text[1:]
        if name not in self.blocks:
            self.forward_block_references[name].append(token.span)
            self.blocks[name] = (Block(), None)
        return self.blocks[name][0]

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            self.fail("SDY-P004", f"%{name} is already defined", span, "rename one of the two definitions")
        self.ssa_values[name] = tuple(values)
        for value in values:
            if isinstance(value, BlockArgument):
                if not isinstance(value.location, UnknownLoc):
                    self._argument_locations[span.start] = value.location
                value.location = self._location_at(span.start)
        self._scope.append(name)
        for index, used in self.forward_ssa_references.pop(name, {}).items():
            span = self._forward_spans[name]
            if index >= len(values):
                self.fail("SDY-P003", f"%{name} has {counted(len(values), 'result')}, but #{index} is used", span)
            if used.type != values[index].type:
                self._fail_type(name, used.type, values[index].type, span)
            used.replace_all_uses_with(values[index])
        self._forward_spans.pop(name, None)

    def resolve_operand(
        self,
        operand: UnresolvedOperand,
        type: AttributeInvT,  # noqa: A002 -- xDSL's name
    ) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        values = self.ssa_values.get(name)
        if values is None:
            self._forward_spans.setdefault(name, operand.span)
            references = self.forward_ssa_references.setdefault(name, {})
            value = references.setdefault(operand.index, ForwardDeclaredValue(type))
        elif operand.index < len(values):
            value = values[operand.index]
        else:
            message = f"%{name} has {counted(len(values), 'result')}, but #{operand.index} is used"
            self.fail("SDY-P003", message, operand.span)
        if value.type != type:
            self._fail_type(name, type, value.type, operand.span)
        self._resolved.append((operand.span.start, value))
        return cast("SSAValue[AttributeInvT]", value)

    def resolve_operands(
        self, args: Sequence[UnresolvedOperand], input_types: Sequence[Attribute], error_pos: Position
    ) -> Sequence[SSAValue]:
        if len(args) != len(input_types):
            counts = f"{counted(len(args), 'operand')} and {counted(len(input_types), 'type')}"
            self.fail(
                "SDY-P010",
                f"expected one type per operand, got {counts}",
                Span(error_pos, error_pos + 1, self.lexer.input),
            )
        return [
            self.resolve_operand(operand, value_type) for operand, value_type in zip(args, input_types, strict=True)
        ]

    def _check_isolated(self, outer_names: Container[str]) -> None:
        """Raise SDY-D004 if the region of the innermost op uses a value that is defined outside of the op."""
        name = next((name for name in self.forward_ssa_references if name in outer_names), None)
        if name is not None:
            op_class, span = self._enclosing[-1]
            self.fail(
                "SDY-D004",
                f"%{name} is defined outside of {op_class.name}, which is isolated from above",
                self._forward_spans[name],
                notes=(Note(f"the region of this {op_class.name} is isolated", self.lines.span(span.start, span.end)),),
            )

    def _check_all_defined(self) -> None:
        for name in self.forward_ssa_references:
            hint = similar_name_hint(name, list(self.ssa_values), "%")
            self.fail("SDY-P003", f"undefined value %{name}", self._forward_spans[name], hint)

    def _location_at(self, start: int) -> FileLineColLoc:
        line, column = self.lines.line_and_column(start)
        return make_location(self._file, line, column_attr(column))

    def _fail_type(self, name: str, used: Attribute, defined: Attribute, span: Span) -> NoReturn:
        self.fail("SDY-P005", f"%{name} is used with type {used}, but has type {defined}", span)


@cache
def column_attr(number: int) -> IntAttr:
    """Return the column of a location; there are few, so they are shared."""
    return IntAttr(number)


@cache
def _is_isolated(op_class: type[Operation]) -> bool:
    return op_class.has_trait(IsolatedFromAbove, value_if_unregistered=False)
