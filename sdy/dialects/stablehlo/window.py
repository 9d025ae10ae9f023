"""Ops that slide a window over a tensor, and their checks: convolutions, pooling, and the gradient of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Operation
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
from sdy.dialects.stablehlo.attributes.attrs import parse_ints, parse_key
from sdy.dialects.stablehlo.attributes.enums import PrecisionAttr
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import reduction_operands, require_reducer
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    ints,
    require_i64_elements,
    require_same_element_type,
    require_same_type,
    require_shape,
    shape,
)
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict, ints_of, ints_text
from sdy.dialects.stablehlo.syntax.dot_clauses import ConvDimensionNumbersAttr, parse_conv_numbers
from sdy.dialects.stablehlo.syntax.op_syntax import parse_rest, print_rest


@dataclass(frozen=True, slots=True)
class WindowDim:
    """The size, stride, padding and dilations of a window along one dim."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1

    def count(self, size: int) -> int:
        """Return the number of window positions along a dim of `size`."""
        if DYNAMIC_INDEX in (size, self.size):
            return DYNAMIC_INDEX
        base = (size - 1) * self.base_dilation + 1 if size else 0
        dilated_window = (self.size - 1) * self.window_dilation + 1 if self.size else 0
        last_start = self.low + base + self.high - dilated_window
        return last_start // self.stride + 1 if last_start >= 0 and dilated_window else 0


def check_convolution(op: Operation) -> None:
    """Check that kernel and group counts match the input, and that the result has one element per window position."""
    numbers = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    rank = len(numbers.input_spatial_dimensions) + 2
    for name, sizes in (("lhs", lhs), ("rhs", rhs), ("the result", shape(op, op.results[0]))):
        if len(sizes) != rank:
            fail(op, "SDY-D014", f"{name} must have rank {rank}, the rank in dimension_numbers, got {len(sizes)}")
    batch_groups, feature_groups = integer(op, "batch_group_count"), integer(op, "feature_group_count")
    for name, count in (("batch_group_count", batch_groups), ("feature_group_count", feature_groups)):
        if count < 1:
            fail(op, "SDY-D016", f"{name} must be at least 1, got {count}")
    features = lhs[numbers.input_feature_dimension]
    kernel_features = rhs[numbers.kernel_input_feature_dimension]
    if features != kernel_features * feature_groups and DYNAMIC_INDEX not in (features, kernel_features):
        message = f"{kernel_features} input features of the kernel times {feature_groups} feature groups"
        fail(op, "SDY-D013", f"lhs has {features} features, expected {message}")
    outputs, batch = rhs[numbers.kernel_output_feature_dimension], lhs[numbers.input_batch_dimension]
    for name, size, count in (
        ("output features of the kernel", outputs, feature_groups),
        ("output features of the kernel", outputs, batch_groups),
        ("batch of lhs", batch, batch_groups),
    ):
        if size != DYNAMIC_INDEX and size % count:
            fail(op, "SDY-D016", f"the {name}, {size}, must be divisible by the number of groups, {count}")
    require_shape(op, op.results[0], convolution_shape(op), "inferred from lhs, rhs and the window")


def convolution_shape(op: Operation) -> tuple[int, ...]:
    """Return the result shape of a convolution that follows from its operands."""
    numbers = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    windows = _windows(op, [rhs[dim] for dim in numbers.kernel_spatial_dimensions], "lhs_dilation", "rhs_dilation")
    _per_dim_values(op, "window_reversal", len(windows))
    sizes = [0] * len(lhs)
    batch, groups = lhs[numbers.input_batch_dimension], integer(op, "batch_group_count")
    sizes[numbers.output_batch_dimension] = batch if batch == DYNAMIC_INDEX else batch // groups
    sizes[numbers.output_feature_dimension] = rhs[numbers.kernel_output_feature_dimension]
    spatial = zip(numbers.output_spatial_dimensions, numbers.input_spatial_dimensions, windows, strict=True)
    for output, data, window in spatial:
        sizes[output] = window.count(lhs[data])
    return tuple(sizes)


def check_reduce_window(op: Operation) -> None:
    """Check that the results have one element per window position."""
    inputs, _ = reduction_operands(op)
    operand = shape(op, inputs[0])
    windows = _windows(op, ints(op, "window_dimensions"), "base_dilations", "window_dilations", len(operand))
    expected = [window.count(size) for window, size in zip(windows, operand, strict=True)]
    for result in op.results:
        require_shape(op, result, expected, "inferred from the inputs and the window")
    require_reducer(op, inputs)


def check_select_and_scatter(op: Operation) -> None:
    """Check that source has one element per window position, and that the result has the type of the operand."""
    operand, source, init = op.operands
    require_same_type(op, (operand, op.results[0]))
    require_same_element_type(op, (operand, source, init))
    require_shape(op, init, (), "an init value")
    sizes = shape(op, operand)
    window = ints(op, "window_dimensions") if "window_dimensions" in op.properties else (1,) * len(sizes)
    windows = _windows(op, window, "", "", len(sizes))
    expected = [window.count(size) for window, size in zip(windows, sizes, strict=True)]
    require_shape(op, source, expected, "inferred from the operand and the window")


def _windows(
    op: Operation, sizes: Sequence[int], base_dilation: str, window_dilation: str, rank: int | None = None
) -> list[WindowDim]:
    """Return the window along each dim, read from the properties of the op.

    Raises: SdyError SDY-D014 if a property has a wrong number of elements; `rank`, if given, is the expected number of
    dims.
    """
    if rank is not None and len(sizes) != rank:
        message = f"window_dimensions must have one element per dim of the operand: expected {rank}, got {len(sizes)}"
        fail(op, "SDY-D014", message)
    for dim, size in enumerate(sizes):
        if size < 1:
            fail(op, "SDY-D016", f"the window must have at least one element along dim {dim}, got {size}")
    columns = [
        _per_dim_values(op, name, len(sizes), minimum=1) for name in ("window_strides", base_dilation, window_dilation)
    ]
    padding = op.properties.get("padding")
    require_i64_elements(op, "padding")
    amounts = (0, 0) * len(sizes)
    if isinstance(padding, DenseElementsAttr):
        count = padding.data.count
        if count != len(amounts):
            message = f"padding must have two elements per window dim: expected {len(amounts)}, got {count}"
            fail(op, "SDY-D014", message)
        amounts = padding.get_ints()
    rows = zip(sizes, columns[0], amounts[::2], amounts[1::2], columns[1], columns[2], strict=True)
    return [WindowDim(*row) for row in rows]


def _per_dim_values(op: Operation, name: str, rank: int, minimum: int | None = None) -> tuple[int, ...]:
    values = ints(op, name) if name in op.properties else (1,) * rank
    if len(values) != rank:
        fail(op, "SDY-D014", f"{name} must have one element per window dim: expected {rank}, got {len(values)}")
    for dim, value in enumerate(values):
        if minimum is not None and value < minimum:
            fail(op, "SDY-D016", f"{name} of dim {dim} must be at least {minimum}, got {value}")
    return values


WINDOW_PROPERTIES = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


class ConvolvingOp(StablehloOp):
    """Base class of convolutions, whose padding is an attribute or an operand."""

    lhs = operand_def()
    rhs = operand_def()
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
class ConvolutionOp(ConvolvingOp):
    """Sum the products of a kernel with each window of the input.

    `stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} : ...`
    """

    name = "stablehlo.convolution"
    padding = opt_prop_def(DenseElementsAttr)
    traits = traits_def(LinearIn(Linearity.EACH))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_convolution,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_op_args_list()
        parse_key(parser, "dim_numbers")
        properties: PropertyDict = {"dimension_numbers": ConvDimensionNumbersAttr(parse_conv_numbers(parser))}
        parser.parse_punctuation(",")
        parse_key(parser, "window")
        parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_window_entry(parser, properties))
        return parse_rest(cls, parser, operands, properties)

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.operands)
        window = ", ".join(
            f"{key} = {_window_text(self.properties[name])}"
            for key, name in WINDOW_PROPERTIES.items()
            if name in self.properties
        )
        printer.print_string(f" dim_numbers = {self.dimension_numbers.data}, window = {{{window}}}")
        print_rest(self, printer, frozenset(("dimension_numbers", *WINDOW_PROPERTIES.values())))


@irdl_op_definition
class DynamicConvOp(ConvolvingOp):
    """A `convolution` whose padding is an operand."""

    name = "stablehlo.dynamic_conv"
    padding = operand_def()


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
