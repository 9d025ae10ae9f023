"""Ops that create or rearrange tensors: constants, broadcasts, reshapes, transpositions."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import Generates, LinearIn, Linearity, MovesElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.requirements import check_indices
from sdy.dialects.stablehlo.checks.shape import (
    check_bitcast_convert,
    check_broadcast,
    check_broadcast_in_dim,
    check_constant,
    check_dimension,
    check_dynamic_broadcast_in_dim,
    check_get_dimension_size,
    check_iota,
    check_output_shape,
    check_reshape,
    check_reverse,
    check_same_element_type,
    check_transpose,
)
from sdy.dialects.stablehlo.syntax.clauses import IntClause, IntsClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form, parse_explicit_constant
from sdy.dialects.stablehlo.syntax.type_signatures import RESULT_ONLY, SAME
from sdy.dialects.text.ssa_names import SuggestsResultNames


class LiteralOp(StablehloOp):
    """Base class of constants: `dense<1.000000e+00> : tensor<2xf32>`.

    `() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.0>>` if the result is quantized.
    """

    value = prop_def(DenseElementsAttr)
    output = result_def()
    traits = traits_def(Pure(), Generates())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_constant,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_punctuation("(") is not None:
            return parse_explicit_constant(cls, parser)
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseElementsAttr):
            parser.raise_error(f"expected dense<...> : type, got {value}", position, parser.pos)
        return cls.create(result_types=[value.type], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.value.type != self.output.type:
            printer.print_op_with_default_format(self)
            return
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


@irdl_op_definition
class ConstantOp(LiteralOp, SuggestsResultNames):
    """A tensor given as a literal.

    `stablehlo.constant dense<1.000000e+00> : tensor<2xf32>`
    """

    name = "stablehlo.constant"

    def result_names(self) -> tuple[str]:
        return ("c" if isinstance(self.value.type.get_element_type(), IntegerType) else "cst",)


@irdl_op_definition
class IotaOp(FormattedOp):
    """A tensor whose elements are their indices along a dim.

    `stablehlo.iota dim = 0 : tensor<4xi32>`
    """

    name = "stablehlo.iota"
    iota_dimension = prop_def(IntegerAttr.constr(i64))
    output = result_def()
    traits = traits_def(Pure(), Generates())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_iota,)
    FORM: ClassVar[Form] = Form(clauses=(IntClause("dim", "iota_dimension"),), signature=RESULT_ONLY)


@irdl_op_definition
class DynamicIotaOp(FormattedOp):
    """An `iota` whose shape is an operand.

    `stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>`
    """

    name = "stablehlo.dynamic_iota"
    output_shape = operand_def()
    iota_dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_iota, check_indices(0))
    FORM: ClassVar[Form] = Form(clauses=(IntClause("dim", "iota_dimension"),))


class RearrangingOp(FormattedOp):
    """Base class of ops with one operand, whose elements the result has in other places."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements(), LinearIn(Linearity.FIRST))


@irdl_op_definition
class BroadcastInDimOp(RearrangingOp):
    """Repeat the operand; its dim i becomes dim `broadcast_dimensions[i]` of the result.

    `stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.broadcast_in_dim"
    broadcast_dimensions = prop_def(DenseArrayBase.constr(i64))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_in_dim,)
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("dims", "broadcast_dimensions"),))


@irdl_op_definition
class DynamicBroadcastInDimOp(FormattedOp):
    """A `broadcast_in_dim` whose result shape is an operand.

    `stablehlo.dynamic_broadcast_in_dim %0, %1, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>`
    """

    name = "stablehlo.dynamic_broadcast_in_dim"
    operand = operand_def()
    output_dimensions = operand_def()
    broadcast_dimensions = prop_def(DenseArrayBase.constr(i64))
    known_expanding_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    known_nonexpanding_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_in_dim, check_dynamic_broadcast_in_dim, check_indices(1))
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("dims", "broadcast_dimensions"),))


@irdl_op_definition
class BroadcastOp(RearrangingOp):
    """Repeat the operand along new major dims.

    `stablehlo.broadcast %0, sizes = [2] : (tensor<4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.broadcast"
    broadcast_sizes = prop_def(DenseArrayBase.constr(i64))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast,)
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("sizes", "broadcast_sizes"),))


@irdl_op_definition
class ReshapeOp(RearrangingOp):
    """Change the shape; the elements keep their row-major order.

    `stablehlo.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>`
    """

    name = "stablehlo.reshape"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reshape,)


@irdl_op_definition
class DynamicReshapeOp(FormattedOp):
    """A `reshape` whose result shape is an operand.

    `stablehlo.dynamic_reshape %0, %1 : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<?xf32>`
    """

    name = "stablehlo.dynamic_reshape"
    operand = operand_def()
    output_shape = operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reshape, check_indices(1), check_output_shape)


@irdl_op_definition
class TransposeOp(RearrangingOp):
    """Permute dims: dim i of the result is dim `permutation[i]` of the operand.

    `stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>`
    """

    name = "stablehlo.transpose"
    permutation = prop_def(DenseArrayBase.constr(i64))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_transpose,)
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("dims", "permutation"),))


@irdl_op_definition
class ReverseOp(RearrangingOp):
    """Reverse the order of the elements along some dims.

    `stablehlo.reverse %0, dims = [0] : tensor<2x4xf32>`
    """

    name = "stablehlo.reverse"
    dimensions = prop_def(DenseArrayBase.constr(i64))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reverse,)
    FORM: ClassVar[Form] = Form(clauses=(IntsClause("dims", "dimensions"),), signature=SAME)


@irdl_op_definition
class BitcastConvertOp(FormattedOp):
    """Reinterpret the bits as elements of another type; a minor dim is added or removed if the widths differ.

    `stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>`
    """

    name = "stablehlo.bitcast_convert"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_bitcast_convert,)


@irdl_op_definition
class GetDimensionSizeOp(FormattedOp):
    """Return the size of a dim as a scalar.

    `stablehlo.get_dimension_size %0, dim = 1 : (tensor<2x4xf32>) -> tensor<i32>`
    """

    name = "stablehlo.get_dimension_size"
    operand = operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_get_dimension_size,)
    FORM: ClassVar[Form] = Form(clauses=(IntClause("dim", "dimension"),))


@irdl_op_definition
class SetDimensionSizeOp(FormattedOp):
    """Restrict a dim of the operand to its first `size` elements.

    `stablehlo.set_dimension_size %0, %1, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32>`
    """

    name = "stablehlo.set_dimension_size"
    operand = operand_def()
    size = operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dimension, check_same_element_type)
    FORM: ClassVar[Form] = Form(clauses=(IntClause("dim", "dimension"),))


OPS = declared_ops(__name__)
