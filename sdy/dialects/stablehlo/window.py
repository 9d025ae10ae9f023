"""Ops that slide a window over a tensor: convolutions, pooling, and the gradient of pooling."""

from __future__ import annotations

from typing import ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    SameVariadicOperandSize,
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

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import Contraction, LinearIn, Linearity, RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import parse_ints
from sdy.dialects.stablehlo.attributes.enums import PrecisionAttr
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.window import check_convolution, check_reduce_window, check_select_and_scatter
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict, ints_of, ints_text
from sdy.dialects.stablehlo.syntax.conv_numbers import ConvDimensionNumbersAttr, parse_conv_numbers
from sdy.dialects.stablehlo.syntax.op_syntax import parse_attributes, print_attributes

WINDOW_PROPERTIES = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


@irdl_op_definition
class ConvolutionOp(StablehloOp):
    """Sum the products of a kernel with each window of the input.

    `stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} : ...`
    """

    name = "stablehlo.convolution"
    lhs = operand_def()
    rhs = operand_def()
    window_strides = opt_prop_def(DenseArrayBase.constr(i64))
    padding = opt_prop_def(DenseElementsAttr)
    lhs_dilation = opt_prop_def(DenseArrayBase.constr(i64))
    rhs_dilation = opt_prop_def(DenseArrayBase.constr(i64))
    window_reversal = opt_prop_def(DenseArrayBase.constr(i1))
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(IntegerAttr.constr(i64))
    batch_group_count = prop_def(IntegerAttr.constr(i64))
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def()
    traits = traits_def(Pure(), Contraction(), LinearIn(Linearity.EACH))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_convolution,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_op_args_list()
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        properties: PropertyDict = {"dimension_numbers": ConvDimensionNumbersAttr(parse_conv_numbers(parser))}
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_window_entry(parser, properties))
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(operands, types.inputs.data, position),
            result_types=types.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.operands)
        window = ", ".join(
            f"{key} = {_window_text(self.properties[name])}"
            for key, name in WINDOW_PROPERTIES.items()
            if name in self.properties
        )
        printer.print_string(f" dim_numbers = {self.dimension_numbers.data}, window = {{{window}}}")
        print_attributes(self, printer, frozenset(("dimension_numbers", *WINDOW_PROPERTIES.values())))
        printer.print_string(" : ")
        printer.print_operation_type(self)


@irdl_op_definition
class DynamicConvOp(StablehloOp):
    """A `convolution` whose padding is an operand."""

    name = "stablehlo.dynamic_conv"
    lhs = operand_def()
    rhs = operand_def()
    padding = operand_def()
    window_strides = opt_prop_def(DenseArrayBase.constr(i64))
    lhs_dilation = opt_prop_def(DenseArrayBase.constr(i64))
    rhs_dilation = opt_prop_def(DenseArrayBase.constr(i64))
    window_reversal = opt_prop_def(DenseArrayBase.constr(i1))
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(IntegerAttr.constr(i64))
    batch_group_count = prop_def(IntegerAttr.constr(i64))
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def()
    traits = traits_def(Pure(), Contraction())


@irdl_op_definition
class ReduceWindowOp(StablehloOp):
    """Reduce each window of the inputs to one element, starting from the init values."""

    name = "stablehlo.reduce_window"
    inputs = var_operand_def()
    init_values = var_operand_def()
    window_dimensions = prop_def(DenseArrayBase.constr(i64))
    window_strides = opt_prop_def(DenseArrayBase.constr(i64))
    base_dilations = opt_prop_def(DenseArrayBase.constr(i64))
    window_dilations = opt_prop_def(DenseArrayBase.constr(i64))
    padding = opt_prop_def(DenseElementsAttr)
    result = var_result_def()
    body = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reduce_window,)


@irdl_op_definition
class SelectAndScatterOp(StablehloOp):
    """Scatter each element of `source` to the index in its window that `select` chooses."""

    name = "stablehlo.select_and_scatter"
    operand = operand_def()
    source = operand_def()
    init_value = operand_def()
    window_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    window_strides = opt_prop_def(DenseArrayBase.constr(i64))
    padding = opt_prop_def(DenseElementsAttr)
    result = result_def()
    select = region_def("single_block")
    scatter = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_select_and_scatter,)


def _parse_window_entry(parser: Parser, into: PropertyDict) -> None:
    key = parser.parse_keyword_in(WINDOW_PROPERTIES, " in a window")
    parser.parse_punctuation("=")
    value: Attribute
    if key == "pad":
        position = parser.pos
        rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_ints(parser))
        if any(len(row) != 2 for row in rows):
            parser.raise_error("expected [low, high] per dim", position, parser.pos)
        padding_type = TensorType(i64, [len(rows), 2])
        value = DenseElementsAttr.from_values(padding_type, [amount for row in rows for amount in row])
    elif key == "reverse":
        # Both booleans and numbers are accepted, as in MLIR.
        flags = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: int(parser.parse_integer(allow_boolean=True) != 0)
        )
        value = DenseArrayBase.from_list(i1, flags)
    else:
        value = DenseArrayBase.from_list(i64, parse_ints(parser))
    into[WINDOW_PROPERTIES[key]] = value


def _window_text(value: Attribute) -> str:
    if isinstance(value, DenseElementsAttr):
        amounts = value.get_ints()
        rows = [f"[{low}, {high}]" for low, high in zip(amounts[::2], amounts[1::2], strict=True)]
        return f"[{', '.join(rows)}]"
    if cast("DenseArrayBase", value).elt_type == i1:
        return f"[{', '.join('true' if flag else 'false' for flag in ints_of(value))}]"
    return ints_text(value)


PoolingOp: TypeAlias = ReduceWindowOp | SelectAndScatterOp
WindowOp: TypeAlias = ConvolutionOp | PoolingOp

OPS = declared_ops(__name__)
