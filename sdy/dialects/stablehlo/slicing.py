"""Ops that slice, concatenate and pad tensors."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.traits import Pure

from sdy.dialects.facts.traits import LinearIn, Linearity, MovesElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import parse_int
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.element_kinds import check_indices
from sdy.dialects.stablehlo.checks.shape import check_same_element_type
from sdy.dialects.stablehlo.checks.slicing import (
    check_concatenate,
    check_dynamic_slice,
    check_dynamic_update_slice,
    check_pad,
    check_slice,
)
from sdy.dialects.stablehlo.syntax.clauses import Clause, IntClause, IntsClause, PropertyDict, ints_of
from sdy.dialects.stablehlo.syntax.op_syntax import Form


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
    FORM: ClassVar[Form] = Form()


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
    FORM: ClassVar[Form] = Form()


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
    FORM: ClassVar[Form] = Form()


ShiftingOp: TypeAlias = ConcatenateOp | PadOp | SliceOp  # elements keep their order, and move by fixed distances

OPS = declared_ops(__name__)
