"""The op `reduce`, and its short form for regions that consist of one commutative op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, UnknownLoc, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from sdy.dialects.facts.traits import RegionOnElements, as_combiner
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.ir.fast_ops import append_op, make_op
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.attributes.attrs import parse_ints
from sdy.dialects.stablehlo.attributes.types import as_tensor, scalar_of
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import check_reduce
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.elementwise import BinaryOp
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict, ints_text
from sdy.dialects.stablehlo.syntax.op_syntax import parse_attributes, print_rest
from sdy.dialects.text.location_parser import parse_located_argument
from sdy.dialects.text.scoped_parser import HasImplicitRegions

_UNKNOWN = UnknownLoc()
# The ops that the short form can name.
COMMUTATIVE = {op.name: op for op in elementwise.OPS if issubclass(op, BinaryOp) and as_combiner(op)}


@irdl_op_definition
class ReduceOp(StablehloOp, HasImplicitRegions):
    """Reduce each slice along `dimensions` to one element, starting from the init value.

    The region takes the accumulated element of every input, then the new element of every input.
    `stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> ...`
    """

    name = "stablehlo.reduce"
    inputs = var_operand_def()
    init_values = var_operand_def()
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = var_result_def()
    body = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reduce,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_pair(parser))
        applied = _parse_applied(parser)
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        properties: PropertyDict = {"dimensions": DenseArrayBase.from_list(i64, parse_ints(parser))}
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        operands = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        inputs = types.inputs.data
        body = _parse_reducer(parser) if applied is None else _body_of(applied, parser, inputs, position)
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, position),
            result_types=types.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        for index, (value, init) in enumerate(zip(self.inputs, self.init_values, strict=True)):
            printer.print_string("(" if index == 0 else ", (")
            printer.print_ssa_value(value)
            printer.print_string(" init: ")
            printer.print_ssa_value(init)
            printer.print_string(")")
        applied = self.applied_op()
        if applied is not None:
            printer.print_string(f" applies {applied.name}")
        printer.print_string(f" across dimensions = {ints_text(self.dimensions)}")
        print_rest(self, printer, frozenset(("dimensions",)))
        if applied is None:
            self._print_reducer(printer)

    def implicit_regions(self) -> Callable[[], list[Region]] | None:
        applied = self.applied_op()
        if applied is None:
            return None
        op_class, scalar = type(applied), applied.result.type
        return lambda: [_region_applying(op_class, scalar)]

    def applied_op(self) -> BinaryOp | None:
        """Return the commutative op if the region consists only of it, applied to the arguments in order; else None."""
        block = self.body.block
        inner, terminator = block.first_op, block.last_op
        if not isinstance(inner, BinaryOp) or inner.next_op is not terminator or not isinstance(terminator, ReturnOp):
            return None
        is_plain = (
            inner.name in COMMUTATIVE
            and not inner.attributes
            and not terminator.attributes
            and {value.type for value in (*inner.operands, inner.result)} == {_scalar_of(self.operands[0].type)}
            and tuple(inner.operands) == block.args
            and tuple(terminator.operands) == (inner.result,)
        )
        return inner if is_plain else None

    def _print_reducer(self, printer: Printer) -> None:
        printer.print_string("\n reducer")
        count = len(self.inputs)
        for accumulated, new in zip(self.body.block.args[:count], self.body.block.args[count:], strict=True):
            printer.print_string("(")
            printer.print_list((accumulated, new), printer.print_block_argument)
            printer.print_string(") ")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _parse_pair(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    with parser.in_parens():
        value = parser.parse_unresolved_operand()
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        return value, parser.parse_unresolved_operand()


def _parse_applied(parser: Parser) -> type[BinaryOp] | None:
    if parser.parse_optional_keyword("applies") is None:
        return None
    return COMMUTATIVE[parser.parse_keyword_in(COMMUTATIVE, " for a reduction in short form")]


def _parse_reducer(parser: Parser) -> Region:
    """Parse `reducer(%0: type, %1: type) (%2: type, %3: type) { ... }`: per input, the accumulated and new element."""
    parser.parse_keyword("reducer")
    pairs = [_parse_reducer_pair(parser)]
    while parser.pos < len(parser.lexer.input) and parser.lexer.input.content[parser.pos] == "(":
        pairs.append(_parse_reducer_pair(parser))
    return parser.parse_region([pair[0] for pair in pairs] + [pair[1] for pair in pairs])


def _parse_reducer_pair(parser: Parser) -> tuple[Parser.Argument, Parser.Argument]:
    with parser.in_parens():
        accumulated = parse_located_argument(parser)
        parser.parse_punctuation(",")
        return accumulated, parse_located_argument(parser)


def _body_of(op_class: type[BinaryOp], parser: Parser, input_types: Sequence[Attribute], position: int) -> Region:
    """Return the region that applies one op to scalars of the first input's element type."""
    scalar = _scalar_of(input_types[0]) if input_types else None
    if scalar is None:
        parser.raise_error(
            "expected a ranked tensor as the first input of a reduction in short form", position, parser.pos
        )
    return _region_applying(op_class, scalar)


def _region_applying(op_class: type[BinaryOp], scalar: Attribute) -> Region:
    """Return the region that applies an op to its two arguments."""
    block = Block(arg_types=(scalar, scalar))
    inner = make_op(op_class, block.args, (scalar,), {}, {}, _UNKNOWN)
    append_op(block, inner)
    append_op(block, make_op(ReturnOp, inner.results, (), {}, {}, _UNKNOWN))
    return Region(block)


def _scalar_of(tensor: Attribute) -> Attribute | None:
    tensor_type = as_tensor(tensor)
    return scalar_of(tensor_type) if tensor_type is not None else None


OPS = declared_ops(__name__)
