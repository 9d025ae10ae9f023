"""Contractions: sums of products over common dims of both operands."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.facts.traits import Contraction, LinearIn, Linearity
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.enums import PrecisionAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.contraction import check_dot, check_dot_general
from sdy.dialects.stablehlo.syntax.clauses import StringClause
from sdy.dialects.stablehlo.syntax.dot_clauses import (
    DotAlgorithmAttr,
    DotAlgorithmClause,
    DotDimsClause,
    PrecisionClause,
)
from sdy.dialects.stablehlo.syntax.op_syntax import Form


@irdl_op_definition
class DotGeneralOp(FormattedOp):
    """Sum products over the contracting dims, for each index of the batching dims.

    The result has the batching dims, then the remaining dims of lhs, then those of rhs.
    `stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.dot_general"
    lhs = operand_def()
    rhs = operand_def()
    dot_dimension_numbers = prop_def(DotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    algorithm = opt_prop_def(DotAlgorithmAttr)
    result = result_def()
    traits = traits_def(Pure(), Contraction(), LinearIn(Linearity.EACH))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dot_general,)
    FORM: ClassVar[Form] = Form(clauses=(DotDimsClause(), PrecisionClause(), DotAlgorithmClause()))


@irdl_op_definition
class DotOp(FormattedOp):
    """Multiply two matrices or vectors: contract the last dim of lhs with the first dim of rhs.

    `stablehlo.dot %0, %1, precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.dot"
    lhs = operand_def()
    rhs = operand_def()
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def()
    traits = traits_def(Pure(), Contraction(), LinearIn(Linearity.EACH))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dot,)
    FORM: ClassVar[Form] = Form(clauses=(PrecisionClause(),))


@irdl_op_definition
class EinsumOp(FormattedOp):
    """Contract two operands as given by an Einstein summation.

    `stablehlo.einsum %0, %1, config = "ab,bc->ac" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.einsum"
    lhs = operand_def()
    rhs = operand_def()
    einsum_config = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure(), Contraction())
    FORM: ClassVar[Form] = Form(clauses=(StringClause("config", "einsum_config"),))


@irdl_op_definition
class UnaryEinsumOp(FormattedOp):
    """Sum or transpose an operand as given by an Einstein summation.

    `stablehlo.unary_einsum %0, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>`
    """

    name = "stablehlo.unary_einsum"
    operand = operand_def()
    einsum_config = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())
    FORM: ClassVar[Form] = Form(clauses=(StringClause("config", "einsum_config"),))


DotLikeOp: TypeAlias = DotGeneralOp | DotOp

OPS = declared_ops(__name__)
