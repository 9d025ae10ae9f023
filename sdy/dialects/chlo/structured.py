"""CHLO ops that are not elementwise: constants, top-k, ragged products, scans."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, i1, i32, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect

from sdy.dialects.chlo.attrs import PrecisionAttr, RaggedDotDimensionNumbersAttr
from sdy.dialects.chlo.checks import check_constant_like, check_ragged_dot, check_scan, check_top_k
from sdy.dialects.facts.traits import Contraction
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import parse_int, parse_key
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.shape import LiteralOp
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict
from sdy.dialects.stablehlo.syntax.op_syntax import parse_attributes, parse_rest, print_attributes, print_rest
from sdy.dialects.stablehlo.syntax.type_signatures import ARROW
from sdy.dialects.text.ssa_names import SuggestsArgumentNames, SuggestsResultNames


@irdl_op_definition
class ConstantOp(LiteralOp):
    """A tensor given as a literal.

    `chlo.constant dense<1.000000e+00> : tensor<2xf32>`
    """

    name = "chlo.constant"


@irdl_op_definition
class ConstantLikeOp(StablehloOp):
    """A tensor with the shape of the operand, filled with a value."""

    name = "chlo.constant_like"
    operand = operand_def()
    value = prop_def(IntegerAttr | FloatAttr)
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_constant_like,)


@irdl_op_definition
class TopKOp(StablehloOp, SuggestsResultNames):
    """Return the k largest elements along the last dim, and their indices.

    `chlo.top_k(%0, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)`
    """

    name = "chlo.top_k"
    operand = operand_def()
    k = prop_def(IntegerAttr.constr(i64))
    values = result_def()
    indices = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_top_k,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_parens():
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(",")
            parse_key(parser, "k")
            properties: PropertyDict = {"k": IntegerAttr(parse_int(parser), i64)}
        return parse_rest(cls, parser, [operand], properties, ARROW)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_ssa_value(self.operand)
        printer.print_string(f", k = {self.k.value.data})")
        print_rest(self, printer, frozenset(("k",)), ARROW)


@irdl_op_definition
class RaggedDotOp(StablehloOp):
    """A `dot_general` in which each group of rows, or of summands, is multiplied by a separate matrix."""

    name = "chlo.ragged_dot"
    lhs = operand_def()
    rhs = operand_def()
    group_sizes = operand_def()
    ragged_dot_dimension_numbers = prop_def(RaggedDotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def()
    traits = traits_def(Pure(), Contraction())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_ragged_dot,)


@irdl_op_definition
class ScanOp(StablehloOp, SuggestsArgumentNames):
    """Run the body on each slice of the inputs along a dim; carries are passed from one slice to the next.

    The body returns a slice of every output, then the carries.
    `chlo.scan(%0) inits (%1) dimension=0 { ... } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)`
    """

    name = "chlo.scan"
    inputs = var_operand_def()
    inits = var_operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    scan_dim_size = opt_prop_def(IntegerAttr.constr(i64))
    is_reverse = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    is_associative = opt_prop_def(IntegerAttr.constr(i1))
    outputs = var_result_def()
    carries = var_result_def()
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    traits = traits_def(RecursiveMemoryEffect())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_scan,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs = parser.parse_op_args_list()
        parser.parse_keyword("inits")
        inits = parser.parse_op_args_list()
        parse_key(parser, "dimension")
        properties: PropertyDict = {"dimension": IntegerAttr(parse_int(parser), i64)}
        attributes: PropertyDict = {}
        if parser.parse_optional_keyword("attributes") is not None:
            attributes = parse_attributes(cls, parser, properties)
        body = parser.parse_region()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        results = len(types.outputs.data)
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), len(inits)])
        properties["resultSegmentSizes"] = DenseArrayBase.from_list(i32, [results - len(inits), len(inits)])
        return cls.create(
            operands=parser.resolve_operands([*inputs, *inits], types.inputs.data, position),
            result_types=types.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.inputs)
        printer.print_string(" inits ")
        printer.print_operands(self.inits)
        printer.print_string(f" dimension={self.dimension.value.data} ")
        printed = ("dimension", "operandSegmentSizes", "resultSegmentSizes")
        print_attributes(self, printer, frozenset(printed), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    def argument_names(self, count: int) -> list[str]:
        inputs = len(self.inputs)
        return ["input"] * inputs + ["carry"] * (count - inputs)


OPS = declared_ops(__name__)
