"""Reads MLIR text so that every op knows its line, and every mistake is one diagnostic with a place.

xDSL's parser does the work. What is replaced here: the lexer, the scopes of value names (without copying them for every
region), the lookup of ops, and the words and places of errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    UnregisteredOp,
)
from xdsl.ir import Attribute, AttributeInvT, Block, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, Parser, Position, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.dialects.ir.fast_ops import make_location, make_op
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX, DEFAULT_DIALECTS
from sdy.dialects.text.line_templates import Line, LineKey, Template, make_template, next_line
from sdy.dialects.text.location_parser import LocationParser
from sdy.dialects.text.text_parser import near_miss


class LocatingParser(LocationParser):
    """Parses the text of `file`.

    Raises: SdyError at the first mistake.
    """

    def __init__(self, context: Context, text: str, file: str) -> None:
        self._file = StringAttr(file)
        self._scope: list[str] = []  # names defined in the region that is being read
        self._forward_places: dict[str, Span] = {}  # first uses of names not defined yet
        self._enclosing: list[type[Operation]] = []
        self._templates: dict[LineKey, Template] = {}
        self._resolved: list[tuple[int, SSAValue]] = []  # operands of the op that is being read, with their places
        self._location_aliases = {}
        super().__init__(context, text, file)

    # Modules

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """The whole text: a module, or ops that are wrapped in one."""
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
        line = self._next_line()
        return self._parse_op() if line is None else self._parse_line(line)

    def parse_optional_operation(self) -> Operation | None:
        line = self._next_line()
        if line is not None:
            return self._parse_line(line)
        # Whatever does not end a region has to be an op, so that the error stands where the text goes wrong.
        ends = (MLIRTokenKind.R_BRACE, MLIRTokenKind.CARET_IDENT, MLIRTokenKind.EOF)
        return None if self._current_token.kind in ends else self._parse_op()

    def _next_line(self) -> Line | None:
        return next_line(self.lexer.input.content, self.position(), self._default_dialect())

    def _parse_line(self, line: Line) -> Operation:
        """The op that begins on this line."""
        template = self._templates.get(line.key)
        if template is not None and line.result_count == len(template.result_types):
            return self._build_op(line, template)
        outer, self._resolved = self._resolved, []
        op = self._parse_op()
        content = self.lexer.input.content
        if template is None and self.consumed <= line.end and not content[self.consumed : line.end].strip():
            learned = make_template(line, op, self._resolved)
            if learned is not None:
                self._templates[line.key] = learned
        self._resolved = outer
        return op

    def _build_op(self, line: Line, template: Template) -> Operation:
        """The op on a line that has a template."""
        operands: list[SSAValue] = []
        for place, of_type in zip(template.operand_places, template.operand_types, strict=True):
            name, _, index = line.values[place][1:].partition("#")
            values = self.ssa_values.get(name)
            number = int(index) if index else 0
            if values is None or number >= len(values) or values[number].type != of_type:
                start = line.value_starts[place]
                span = Span(start, start + len(name) + 1, self.lexer.input)
                operands.append(self.resolve_operand(UnresolvedOperand(span, number), of_type))
            else:
                operands.append(values[number])
        op = make_op(
            template.op_class,
            operands,
            template.result_types,
            template.properties,
            template.attributes,
            self._location_at(line.start),
            (template.regions() or ()) if template.regions is not None else (),
        )
        self._resume_from(line.end)
        if line.result is not None:
            if line.result in self.ssa_values or line.result in self.forward_ssa_references:
                start = self.lexer.input.content.rindex("%", 0, line.start)
                self._register_ssa_definition(line.result, op.results, Span(start, line.start, self.lexer.input))
            else:
                self.ssa_values[line.result] = op.results
                self._scope.append(line.result)
        return op

    def _parse_op(self) -> Operation:
        results = self._parse_op_result_list()
        name = self._current_token
        if name.kind is MLIRTokenKind.BARE_IDENT:
            op_class = self._op_class_of(name.text, name.span)
            self._consume_token()
            own = CUSTOM_SYNTAX.get(op_class)
            parse = op_class.parse if own is None else own.parse
        elif name.kind is MLIRTokenKind.STRING_LIT:
            op_class = self._op_class_of(self.parse_str_literal(), name.span, is_generic=True)
            parse = self._generic_parser_of(op_class)
        else:
            self.raise_error("an op begins with its name", name.span)
        self._enclosing.append(op_class)
        op = parse(self)
        self._enclosing.pop()
        self.parse_optional_location()
        op.location = self._location_at(name.span.start)
        if results:
            self._bind_results(op, results)
        return op

    def _generic_parser_of(self, op_class: type[Operation]) -> Callable[[Parser], Operation]:
        return lambda _: self._parse_generic_operation(op_class)

    def _default_dialect(self) -> str:
        return DEFAULT_DIALECTS.get(self._enclosing[-1], "") if self._enclosing else "builtin"

    def _op_class_of(self, name: str, place: Span, is_generic: bool = False) -> type[Operation]:
        full_name = name if "." in name or is_generic else f"{self._default_dialect()}.{name}"
        op_class = self.ctx.get_optional_op(full_name)
        if op_class is None or (issubclass(op_class, UnregisteredOp) and not is_generic):
            known = [op.name for op in self.ctx.loaded_ops if not issubclass(op, UnregisteredOp)]
            self.fail("SDY-P002", f"no op is called {name}", place, near_miss(full_name, known))
        return op_class

    def _bind_results(self, op: Operation, bound: Sequence[tuple[Span, int]]) -> None:
        count = sum(size for _, size in bound)
        if count != len(op.results):
            message = f"{op.name} has {_counted(len(op.results), 'result')}, and {_counted(count, 'name')} for them"
            self.fail("SDY-P009", message, bound[0][0])
        first = 0
        for place, size in bound:
            self._register_ssa_definition(place.text[1:], op.results[first : first + size], place)
            first += size

    # Regions and the names in them

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        if self.parse_optional_punctuation("{") is None:
            return None
        is_isolated = _is_isolated(self._enclosing[-1]) if self._enclosing else False
        outer_names = (self.ssa_values, self.forward_ssa_references, self._forward_places)
        outer_scope, outer_blocks = self._scope, (self.blocks, self.forward_block_references)
        if is_isolated:
            self.ssa_values, self.forward_ssa_references, self._forward_places = {}, {}, {}
        self._scope, self.blocks, self.forward_block_references = [], {}, defaultdict(list)
        region = self._parse_blocks(None if arguments is None else list(arguments))
        if is_isolated:
            self._check_all_defined()
            self.ssa_values, self.forward_ssa_references, self._forward_places = outer_names
        else:
            for name in self._scope:
                del self.ssa_values[name]
        self._scope = outer_scope
        self.blocks, self.forward_block_references = outer_blocks
        return region

    def _parse_blocks(self, arguments: list[Parser.Argument] | None) -> Region:
        region = Region()
        if arguments is not None or self._current_token.kind not in (MLIRTokenKind.CARET_IDENT, MLIRTokenKind.R_BRACE):
            entry = Block(arg_types=[argument.type for argument in arguments or ()])
            for value, argument in zip(entry.args, arguments or (), strict=True):
                self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
            self._parse_block_body(entry)
            region.add_block(entry)
        while self.parse_optional_punctuation("}") is None:
            if self._current_token.kind is MLIRTokenKind.EOF:
                self.raise_error("the text ends within a region; a } is missing")
            region.add_block(self._parse_block())
        for name, uses in self.forward_block_references.items():
            self.fail("SDY-P003", f"no block is called ^{name}", uses[0])
        return region

    def _parse_block(self) -> Block:
        place = self._parse_token(MLIRTokenKind.CARET_IDENT, "an op, a block or a } belongs here").span
        name = place.text[1:]
        block, definition = self.blocks.get(name, (Block(), None))
        if definition is not None:
            self.fail("SDY-P004", f"^{name} is already defined", place, "give one of the two another name")
        self.blocks[name] = (block, place)
        self.forward_block_references.pop(name, None)
        self._parse_optional_block_arg_list(block)
        self.parse_punctuation(":")
        self._parse_block_body(block)
        return block

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
            self.fail("SDY-P004", f"%{name} is already defined", span, "give one of the two another name")
        self.ssa_values[name] = tuple(values)
        self._scope.append(name)
        for index, used in self.forward_ssa_references.pop(name, {}).items():
            place = self._forward_places[name]
            if index >= len(values):
                self.fail("SDY-P003", f"%{name} has {_counted(len(values), 'result')}, there is no #{index}", place)
            if used.type != values[index].type:
                self._fail_type(name, used.type, values[index].type, place)
            used.replace_all_uses_with(values[index])
        self._forward_places.pop(name, None)

    def resolve_operand(
        self,
        operand: UnresolvedOperand,
        type: AttributeInvT,  # noqa: A002 -- xDSL's name
    ) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        values = self.ssa_values.get(name)
        if values is None:
            self._forward_places.setdefault(name, operand.span)
            references = self.forward_ssa_references.setdefault(name, {})
            value = references.setdefault(operand.index, ForwardDeclaredValue(type))
        elif operand.index < len(values):
            value = values[operand.index]
        else:
            message = f"%{name} has {_counted(len(values), 'result')}, there is no #{operand.index}"
            self.fail("SDY-P003", message, operand.span)
        if value.type != type:
            self._fail_type(name, type, value.type, operand.span)
        self._resolved.append((operand.span.start, value))
        return cast("SSAValue[AttributeInvT]", value)

    def resolve_operands(
        self, args: Sequence[UnresolvedOperand], input_types: Sequence[Attribute], error_pos: Position
    ) -> Sequence[SSAValue]:
        if len(args) != len(input_types):
            message = f"{_counted(len(args), 'operand')}, but {_counted(len(input_types), 'operand type')}"
            self.fail("SDY-P010", message, Span(error_pos, error_pos + 1, self.lexer.input))
        return [self.resolve_operand(operand, of_type) for operand, of_type in zip(args, input_types, strict=True)]

    def _check_all_defined(self) -> None:
        for name in self.forward_ssa_references:
            hint = near_miss(name, list(self.ssa_values), "%")
            self.fail("SDY-P003", f"%{name} is not defined", self._forward_places[name], hint)

    def _location_at(self, start: int) -> FileLineColLoc:
        line, column = self.lines.line_and_column(start)
        return make_location(self._file, line, _column(column))

    def _fail_type(self, name: str, used: Attribute, defined: Attribute, place: Span) -> NoReturn:
        self.fail("SDY-P005", f"%{name} is used as {used}, but it is {defined}", place)


@cache
def _column(number: int) -> IntAttr:
    return IntAttr(number)


@cache
def _is_isolated(op_class: type[Operation]) -> bool:
    return op_class.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
