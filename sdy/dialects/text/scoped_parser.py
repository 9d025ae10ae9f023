"""A parser of regions and blocks, and of the names of values and blocks in them.

xDSL copies the table of names for every region; this parser removes the names of a region when the region ends.

Most lines of a large program repeat the same op, clauses, attributes and types with other values. Such a line is not
parsed again: the op of the first line is copied with the operands of this line.
"""

# pyright: reportPrivateUsage=false
# The types of values are read from private fields, as links are in `sdy.dialects.ir.walk`: properties are slow.

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, AttributeInvT, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, Parser, Position, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.diagnostics.diagnostic import Note
from sdy.diagnostics.wording import counted, similar_name_hint
from sdy.dialects.facts.traits import has_fact
from sdy.dialects.ir.fast_ops import append_new_op, append_op, item_of, make_location, operands_of, type_of
from sdy.dialects.text.func_syntax import DEFAULT_DIALECTS
from sdy.dialects.text.location_parser import LocationParser

MAX_LINE_LENGTH = 2000  # longer lines hold large constants, which rarely repeat

_VALUE_NAME = re.compile(r"%([A-Za-z0-9_$.-]+(?:#[0-9]+)?)")
_RESULT_END = re.compile(r"(?::[0-9]+)?\s*=\s")  # after the only name of results


class HasImplicitRegions:
    """An op whose text may be a single line although it has regions."""

    def implicit_regions(self) -> Callable[[], list[Region]] | None:
        """Return a function that creates copies of the regions, or None if the regions are printed."""
        raise NotImplementedError


class Template(NamedTuple):
    """The op of a line, except for its operands and location."""

    op_class: type[Operation]
    operands: Sequence[tuple[int, Attribute]]  # the index of each among the names on the line, and its type
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: Callable[[], list[Region]] | None
    has_result_name: bool  # the first name on the line is that of the results
    column: int  # of the op, not counting the name of the results
    location: LocationAttr | None  # named at the end of the line


def split_line(line: str) -> tuple[str, list[str]]:
    """Return a pattern, equal for lines that differ only in names of values, and the names, such as `0#1`.

    The pattern has a line break in place of each name. A line that is too long has the pattern of an empty line.
    """
    if len(line) > MAX_LINE_LENGTH:
        return "", []
    pieces = _VALUE_NAME.split(line)
    return "\n".join(pieces[::2]), pieces[1::2]


def make_template(
    line: str, start: int, op: Operation, resolved: Sequence[tuple[int, SSAValue]], named: LocationAttr | None
) -> Template | None:
    """Return the template of an op parsed from the line at offset `start`, or None if the line does not determine it.

    `resolved` are the operands that were resolved while the line was parsed, with the offsets of their names; `named`
    is the location at the end of the line. The location of the op is the place of its name.
    """
    if not _is_plain(line) or op.successors or tuple([value for _, value in resolved]) != operands_of(op):
        return None
    regions: Callable[[], list[Region]] | None = None
    if op.regions:
        regions = op.implicit_regions() if isinstance(op, HasImplicitRegions) else None
        if regions is None:
            return None
    assert isinstance(op.location, FileLineColLoc)  # it was parsed
    column = op.location.column.data
    names = list(_VALUE_NAME.finditer(line))
    has_result_name = line.lstrip().startswith("%")
    if has_result_name:
        if _RESULT_END.match(line, names[0].end()) is None:  # there are several names
            return None
        column -= len(names[0][1])
    positions = {start + name.start(): position for position, name in enumerate(names)}
    operands = [(positions.pop(offset, 0), type_of(value)) for offset, value in resolved]
    if len(positions) != has_result_name or len(operands) + has_result_name != len(names):
        return None
    types = tuple(map(type_of, op.results))
    return Template(type(op), operands, types, op.properties, op.attributes, regions, has_result_name, column, named)


def _is_plain(line: str) -> bool:
    """Return whether a line is short, and each `%` on it begins a name: none is in a string or in a comment."""
    if len(line) > MAX_LINE_LENGTH or "\\" in line or "//" in line:
        return False
    return all(piece.count('"') % 2 == 0 for piece in line.split("%"))


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
        is_isolated = has_fact(self._enclosing[-1][0], IsolatedFromAbove) if self._enclosing else False
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


class RepeatingParser(ScopedParser):
    """A parser that parses equal lines of blocks only once."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        # By default dialect and by pattern of the line.
        self._templates: defaultdict[str, dict[str, Template]] = defaultdict(dict)
        self._locations, self._argument_locations = {}, {}
        super().__init__(context, text, file)

    def _parse_block_body(self, block: Block) -> None:
        templates = self._templates[self._default_dialect()]
        while True:
            if templates:
                self._parse_repeated_lines(block, templates)
            line = self.lines.index_at_begin(self.position())
            outer, self._resolved = self._resolved, []
            op = self.parse_optional_operation()
            if op is not None:
                append_op(block, op)
                if line is not None and self._ends_on(line):
                    self._remember_line(line, op, templates)
            self._resolved = outer
            if op is None:
                return

    def _ends_on(self, line: int) -> bool:
        """Return whether the tokens parsed last end on a line, and are the last ones on it."""
        end = self.lines.starts[line + 1] - 1
        return self.consumed <= end and not self.lexer.input.content[self.consumed : end].strip()

    def _remember_line(self, line: int, op: Operation, templates: dict[str, Template]) -> None:
        """Add the template of a line, whose only op was parsed last."""
        text, start = self.lines.texts[line], self.lines.starts[line]
        template = make_template(text, start, op, self._resolved, self._locations.get(self._offset_of(op)))
        if template is not None:
            templates[split_line(text)[0]] = template

    def _parse_repeated_lines(self, block: Block, templates: Mapping[str, Template]) -> None:
        """Parse the ops on the next lines, up to the first line that repeats no earlier one or that has a problem."""
        index = self.lines.index_at_begin(self.position())
        if index is None:
            return
        texts, defined, undefined, op = self.lines.texts, self.ssa_values, self.forward_ssa_references, None
        while index < len(texts):
            pattern, names = split_line(texts[index])
            template = templates.get(pattern)
            if template is None:
                break
            op_class, expected, result_types, properties, attributes, regions, has_result_name, column, named = template
            operands = self._operands_on_line(names, expected)
            result = names[0] if has_result_name else ""
            if operands is None or result in defined or result in undefined:
                break
            column += len(result)
            location = make_location(self._file, index + 1, column_attr(column))
            op = append_new_op(block, op_class, operands, result_types, properties, attributes, location)
            if regions is not None:
                for region in regions():
                    op.add_region(region)
            if has_result_name:
                defined[result] = op.results
                self._scope.append(result)
            if named is not None:
                self._locations[self.lines.starts[index] + column - 1] = named
            index += 1
        if op is not None:
            self._resume_from(self.lines.starts[index] - 1)
            self._keep_location(self._offset_of(op), self.parse_optional_location())  # it may be on the next line

    def _operands_on_line(
        self, names: Sequence[str], expected: Sequence[tuple[int, Attribute]]
    ) -> list[SSAValue] | None:
        """Return the values with some of the names on a line, or None if one is undefined or has another type."""
        defined = self.ssa_values
        operands: list[SSAValue] = []
        for position, value_type in expected:
            values = defined.get(names[position])
            value = item_of(values, 0) if values else self._result_numbered(names[position])
            if value is None or (value._type is not value_type and value._type != value_type):
                return None
            operands.append(value)
        return operands

    def _result_numbered(self, name: str) -> SSAValue | None:
        """Return the value with a name such as `0#1`, or None if it is not defined."""
        name, _, index = name.partition("#")
        values = self.ssa_values.get(name, ())
        return values[int(index)] if index and int(index) < len(values) else None

    def _offset_of(self, op: Operation) -> int:
        """Return the offset at which the name of a parsed op begins."""
        assert isinstance(op.location, FileLineColLoc)
        return self.lines.starts[op.location.line.data - 1] + op.location.column.data - 1

    def _keep_location(self, start: int, location: LocationAttr | None) -> None:
        if location is not None:
            self._locations[start] = location

    def _default_dialect(self) -> str:
        return DEFAULT_DIALECTS.get(self._enclosing[-1][0], "") if self._enclosing else "builtin"
