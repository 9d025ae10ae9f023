"""Ops that make tensors or rearrange them: constants, broadcasts, reshapes, transpositions."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.shape import (
    check_bitcast_convert,
    check_broadcast,
    check_broadcast_in_dim,
    check_constant,
    check_dimension,
    check_dynamic_broadcast_in_dim,
    check_get_dimension_size,
    check_iota,
    check_reshape,
    check_reverse,
    check_same_element_type,
    check_transpose,
)
from sdy.dialects.stablehlo.syntax.clauses import Int, Ints
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import RESULT_ONLY, SAME
from sdy.dialects.text.ssa_names import SuggestsResultNames


class LiteralOp(StablehloOp):
    """An op that is a constant: `dense<1.000000e+00> : tensor<2xf32>`."""

    value = prop_def(DenseElementsAttr)
    output = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_constant,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseElementsAttr):
            parser.raise_error(f"a constant is dense<...> : type, not {value}", position, parser.pos)
        return cls.create(result_types=[value.type], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


@irdl_op_definition
class ConstantOp(LiteralOp, SuggestsResultNames):
    """A tensor that the program spells out.

    `stablehlo.constant dense<1.000000e+00> : tensor<2xf32>`
    """

    name = "stablehlo.constant"

    def result_names(self) -> tuple[str]:
        return ("c" if isinstance(self.value.type.get_element_type(), IntegerType) else "cst",)


@irdl_op_definition
class IotaOp(FormattedOp):
    """Every element is its index along one dim.

    `stablehlo.iota dim = 0 : tensor<4xi32>`
    """

    name = "stablehlo.iota"
    iota_dimension = prop_def(IntegerAttr.constr(i64))
    output = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_iota,)
    FORM: ClassVar[Form] = Form(clauses=(Int("dim", "iota_dimension"),), signature=RESULT_ONLY)


@irdl_op_definition
class DynamicIotaOp(FormattedOp):
    """`iota` whose shape is an operand.

    `stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>`
    """

    name = "stablehlo.dynamic_iota"
    output_shape = operand_def()
    iota_dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_iota,)
    FORM: ClassVar[Form] = Form(clauses=(Int("dim", "iota_dimension"),))


@irdl_op_definition
class BroadcastInDimOp(FormattedOp):
    """Repeats the operand, whose dim i becomes dim `broadcast_dimensions[i]` of the result.

    `stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.broadcast_in_dim"
    operand = operand_def()
    broadcast_dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_in_dim,)
    FORM: ClassVar[Form] = Form(clauses=(Ints("dims", "broadcast_dimensions"),))


@irdl_op_definition
class DynamicBroadcastInDimOp(FormattedOp):
    """`broadcast_in_dim` whose result shape is an operand.

    `stablehlo.dynamic_broadcast_in_dim %0, %1, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>`
    """

    name = "stablehlo.dynamic_broadcast_in_dim"
    operand = operand_def()
    output_dimensions = operand_def()
    broadcast_dimensions = prop_def(DenseArrayBase.constr(i64))
    known_expanding_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    known_nonexpanding_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_in_dim, check_dynamic_broadcast_in_dim)
    FORM: ClassVar[Form] = Form(clauses=(Ints("dims", "broadcast_dimensions"),))


@irdl_op_definition
class BroadcastOp(FormattedOp):
    """Repeats the operand along new dims that come first.

    `stablehlo.broadcast %0, sizes = [2] : (tensor<4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.broadcast"
    operand = operand_def()
    broadcast_sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast,)
    FORM: ClassVar[Form] = Form(clauses=(Ints("sizes", "broadcast_sizes"),))


@irdl_op_definition
class ReshapeOp(FormattedOp):
    """The same elements, in row-major order, in another shape.

    `stablehlo.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>`
    """

    name = "stablehlo.reshape"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reshape,)
    FORM: ClassVar[Form] = Form()


@irdl_op_definition
class DynamicReshapeOp(FormattedOp):
    """`reshape` whose result shape is an operand.

    `stablehlo.dynamic_reshape %0, %1 : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<?xf32>`
    """

    name = "stablehlo.dynamic_reshape"
    operand = operand_def()
    output_shape = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reshape,)
    FORM: ClassVar[Form] = Form()


@irdl_op_definition
class TransposeOp(FormattedOp):
    """Dim i of the result is dim `permutation[i]` of the operand.

    `stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>`
    """

    name = "stablehlo.transpose"
    operand = operand_def()
    permutation = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_transpose,)
    FORM: ClassVar[Form] = Form(clauses=(Ints("dims", "permutation"),))


@irdl_op_definition
class ReverseOp(FormattedOp):
    """The elements in opposite order along some dims.

    `stablehlo.reverse %0, dims = [0] : tensor<2x4xf32>`
    """

    name = "stablehlo.reverse"
    operand = operand_def()
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reverse,)
    FORM: ClassVar[Form] = Form(clauses=(Ints("dims", "dimensions"),), signature=SAME)


@irdl_op_definition
class BitcastConvertOp(FormattedOp):
    """The same bits as elements of another type; a dim comes or goes where the widths differ.

    `stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>`
    """

    name = "stablehlo.bitcast_convert"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_bitcast_convert,)
    FORM: ClassVar[Form] = Form()


@irdl_op_definition
class GetDimensionSizeOp(FormattedOp):
    """The size of a dim, as a scalar.

    `stablehlo.get_dimension_size %0, dim = 1 : (tensor<2x4xf32>) -> tensor<i32>`
    """

    name = "stablehlo.get_dimension_size"
    operand = operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_get_dimension_size,)
    FORM: ClassVar[Form] = Form(clauses=(Int("dim", "dimension"),))


@irdl_op_definition
class SetDimensionSizeOp(FormattedOp):
    """The operand, of which only the first `size` places of a dim count.

    `stablehlo.set_dimension_size %0, %1, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32>`
    """

    name = "stablehlo.set_dimension_size"
    operand = operand_def()
    size = operand_def()
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dimension, check_same_element_type)
    FORM: ClassVar[Form] = Form(clauses=(Int("dim", "dimension"),))


OPS = (
    ConstantOp,
    IotaOp,
    DynamicIotaOp,
    BroadcastInDimOp,
    DynamicBroadcastInDimOp,
    BroadcastOp,
    ReshapeOp,
    DynamicReshapeOp,
    TransposeOp,
    ReverseOp,
    BitcastConvertOp,
    GetDimensionSizeOp,
    SetDimensionSizeOp,
)
