"""Ops that slice, concatenate and pad tensors, and their checks."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.traits import Pure

from sdy.dialects.facts.traits import LinearIn, Linearity, MovesElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import parse_int
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.requirements import (
    check_indices,
    fail,
    integer,
    require_dims,
    require_length,
    require_same_element_type,
    require_same_type,
    require_shape,
    shape,
)
from sdy.dialects.stablehlo.checks.shape import check_same_element_type
from sdy.dialects.stablehlo.syntax.clauses import Clause, IntClause, IntsClause, PropertyDict, ints_of
from sdy.dialects.stablehlo.syntax.op_syntax import Form


def check_slice(op: Operation) -> None:
    """Check that, for each dim, start and limit lie within the operand and that the stride is positive."""
    require_same_element_type(op, (op.operands[0], op.results[0]))
    operand = shape(op, op.operands[0])
    names = ("start_indices", "limit_indices", "strides")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    expected: list[int] = []
    for dim, (size, start, limit, stride) in enumerate(zip(operand, *columns, strict=True)):
        if stride < 1:
            fail(op, "SDY-D016", f"stride of dim {dim} must be at least 1, got {stride}")
        if not 0 <= start <= limit or (limit > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"slice {start}:{limit} of dim {dim} must lie within its size {size}")
        expected.append(-(-(limit - start) // stride))
    require_shape(op, op.results[0], expected, "inferred from start_indices, limit_indices and strides")


def check_dynamic_slice(op: Operation) -> None:
    """Check that there is one start per dim, and that slice sizes are at most those of the operand."""
    operand_value, *starts = op.operands
    operand = shape(op, operand_value)
    require_same_element_type(op, (operand_value, op.results[0]))
    sizes = require_length(op, "slice_sizes", len(operand), "the operand")
    _require_starts(op, len(operand), len(starts))
    for dim, (size, slice_size) in enumerate(zip(operand, sizes, strict=True)):
        if slice_size < 0 or (slice_size > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"slice size of dim {dim} must be from 0 to its size {size}, got {slice_size}")
    require_shape(op, op.results[0], sizes, "inferred from slice_sizes")


def check_dynamic_update_slice(op: Operation) -> None:
    """Check that there is one start per dim, and that the update is at most as large as the operand."""
    operand_value, update_value, *starts = op.operands
    require_same_type(op, (operand_value, op.results[0]))
    require_same_element_type(op, (operand_value, update_value))
    operand, update = shape(op, operand_value), shape(op, update_value)
    _require_starts(op, len(operand), len(starts))
    if len(operand) != len(update):
        fail(op, "SDY-D013", f"operand and update must have the same rank, got {len(operand)} and {len(update)}")
    for dim, (size, update_size) in enumerate(zip(operand, update, strict=True)):
        if update_size > size and DYNAMIC_INDEX not in (size, update_size):
            fail(op, "SDY-D016", f"size of dim {dim} of the update must be at most {size}, got {update_size}")


def check_concatenate(op: Operation) -> None:
    """Check that the inputs differ only in the size of one dim, and that the result has the sum of these sizes."""
    if not op.operands:
        fail(op, "SDY-D001", "expected at least one operand")
    require_same_element_type(op, (*op.operands, op.results[0]))
    shapes = [shape(op, value) for value in op.operands]
    rank = len(shapes[0])
    dim = integer(op, "dimension")
    require_dims(op, "dimension", [dim], rank, "the first input")
    sizes = [each[dim] for each in shapes if len(each) == rank]
    for value in op.operands:
        expected = (*shapes[0][:dim], DYNAMIC_INDEX, *shapes[0][dim + 1 :])
        require_shape(op, value, expected, "inferred from the first input")
    total = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else sum(sizes)
    require_shape(op, op.results[0], (*shapes[0][:dim], total, *shapes[0][dim + 1 :]), "inferred from the inputs")


def check_pad(op: Operation) -> None:
    """Check that the dims of the result are those of the operand plus low, high and interior padding."""
    require_same_element_type(op, (op.operands[0], op.operands[1], op.results[0]))
    require_shape(op, op.operands[1], (), "the padding value")
    operand = shape(op, op.operands[0])
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    expected: list[int] = []
    for dim, (size, low, high, interior) in enumerate(zip(operand, *columns, strict=True)):
        if interior < 0:
            fail(op, "SDY-D016", f"interior padding of dim {dim} must not be negative, got {interior}")
        padded = size + low + high + max(size - 1, 0) * interior
        if padded < 0 and size != DYNAMIC_INDEX:
            message = f"low padding {low} and high padding {high} of dim {dim} of size {size} result in size {padded}"
            fail(op, "SDY-D016", message)
        expected.append(DYNAMIC_INDEX if size == DYNAMIC_INDEX else padded)
    require_shape(op, op.results[0], expected, "inferred from the operand and the padding")


def _require_starts(op: Operation, rank: int, count: int) -> None:
    if count != rank:
        fail(op, "SDY-D014", f"expected one start index per dim of the operand ({rank}), got {count}")


class SliceRangesClause(Clause):
    """`[0:4, 2:8:2]`: per dim the start, the limit, and the stride unless it is 1."""

    properties = ("start_indices", "limit_indices", "strides")
    starts_after_comma = False
    start = "["

    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: self._parse_range(parser))
        for index, name in enumerate(self.properties):
            into[name] = DenseArrayBase.from_list(i64, [item[index] for item in ranges])
        return True

    def text(self, op: Operation) -> str:
        columns = (ints_of(op.properties[name]) for name in self.properties)
        ranges = zip(*columns, strict=True)
        return f"[{', '.join(f'{start}:{limit}' + (f':{step}' if step != 1 else '') for start, limit, step in ranges)}]"

    @staticmethod
    def _parse_range(parser: Parser) -> tuple[int, int, int]:
        start = parse_int(parser)
        parser.parse_punctuation(":")
        limit = parse_int(parser)
        has_step = parser.parse_optional_punctuation(":") is not None
        return start, limit, parse_int(parser) if has_step else 1


@irdl_op_definition
class SliceOp(FormattedOp):
    """Select elements from `start_indices` to `limit_indices` (exclusive) with `strides`.

    `stablehlo.slice %0 [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>`
    """

    name = "stablehlo.slice"
    operand = operand_def()
    start_indices = prop_def(DenseArrayBase.constr(i64))
    limit_indices = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True), LinearIn(Linearity.FIRST))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_slice,)
    FORM: ClassVar[Form] = Form(clauses=(SliceRangesClause(),))


@irdl_op_definition
class DynamicSliceOp(FormattedOp):
    """Slice at start indices that are scalar operands, clamped so that the slice is in bounds.

    `stablehlo.dynamic_slice %0, %1, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>`
    """

    name = "stablehlo.dynamic_slice"
    operand = operand_def()
    start_indices = var_operand_def()
    slice_sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True), LinearIn(Linearity.FIRST))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dynamic_slice, check_indices(1))
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("sizes", "slice_sizes"),))


@irdl_op_definition
class DynamicUpdateSliceOp(FormattedOp):
    """Overwrite a slice of the operand with `update`, at start indices clamped so that it is in bounds.

    `stablehlo.dynamic_update_slice %0, %1, %2 : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>`
    """

    name = "stablehlo.dynamic_update_slice"
    operand = operand_def()
    update = operand_def()
    start_indices = var_operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dynamic_update_slice, check_indices(2))


@irdl_op_definition
class RealDynamicSliceOp(FormattedOp):
    """A `slice` whose starts, limits and strides are operands."""

    name = "stablehlo.real_dynamic_slice"
    operand = operand_def()
    start_indices = operand_def()
    limit_indices = operand_def()
    strides = operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_same_element_type, check_indices(1))


@irdl_op_definition
class ConcatenateOp(FormattedOp):
    """Concatenate the inputs along a dim.

    `stablehlo.concatenate %0, %1, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>`
    """

    name = "stablehlo.concatenate"
    inputs = var_operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements(), LinearIn(Linearity.ALL))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_concatenate,)
    FORM: ClassVar[Form] = Form(clauses=(IntClause("dim", "dimension"),))


@irdl_op_definition
class PadOp(FormattedOp):
    """Insert `padding_value` before, after and between the elements; negative padding removes elements.

    `stablehlo.pad %0, %1, low = [0], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>`
    """

    name = "stablehlo.pad"
    operand = operand_def()
    padding_value = operand_def()
    edge_padding_low = prop_def(DenseArrayBase.constr(i64))
    edge_padding_high = prop_def(DenseArrayBase.constr(i64))
    interior_padding = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_pad,)
    FORM: ClassVar[Form] = Form(
        clauses=(
            IntsClause("low", "edge_padding_low"),
            IntsClause("high", "edge_padding_high"),
            IntsClause("interior", "interior_padding"),
        )
    )


@irdl_op_definition
class DynamicPadOp(FormattedOp):
    """A `pad` whose amounts are operands."""

    name = "stablehlo.dynamic_pad"
    operand = operand_def()
    padding_value = operand_def()
    edge_padding_low = operand_def()
    edge_padding_high = operand_def()
    interior_padding = operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_same_element_type, check_indices(2))


ShiftingOp: TypeAlias = ConcatenateOp | PadOp | SliceOp  # elements keep their order, and move by fixed distances

OPS = declared_ops(__name__)
