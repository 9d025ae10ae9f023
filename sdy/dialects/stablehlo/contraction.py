"""Contractions and their checks: sums of products over common dims of both operands."""

from __future__ import annotations

from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.facts.traits import Contraction, LinearIn, Linearity
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.enums import PrecisionAttr
from sdy.dialects.stablehlo.attributes.types import DimSizes
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.requirements import fail, require_dims, require_shape, shape
from sdy.dialects.stablehlo.syntax.clauses import StringClause
from sdy.dialects.stablehlo.syntax.dot_clauses import (
    DotAlgorithmAttr,
    DotAlgorithmClause,
    DotDimsClause,
    PrecisionClause,
)
from sdy.dialects.stablehlo.syntax.op_syntax import Form


def check_dot_general(op: Operation) -> None:
    """Check that batching and contracting dims come in pairs of equal sizes, and that the result has all other dims."""
    numbers = cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    require_dims(
        op,
        "the dimension numbers of lhs",
        numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions,
        len(lhs),
        "lhs",
    )
    require_dims(
        op,
        "the dimension numbers of rhs",
        numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions,
        len(rhs),
        "rhs",
    )
    _require_pairs(op, lhs, rhs, "batching", numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
    _require_pairs(op, lhs, rhs, "contracting", numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    _require_precisions(op)
    expected = [
        *(lhs[dim] for dim in numbers.lhs_batching_dimensions),
        *_remaining_sizes(lhs, numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions),
        *_remaining_sizes(rhs, numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions),
    ]
    require_shape(op, op.results[0], expected, "inferred from lhs, rhs and dot_dimension_numbers")


def check_dot(op: Operation) -> None:
    """Check that both operands are vectors or matrices, and that their contracting dims have equal sizes."""
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    for name, sizes in (("lhs", lhs), ("rhs", rhs)):
        if len(sizes) not in (1, 2):
            fail(op, "SDY-D011", f"{name} must be a vector or a matrix, got rank {len(sizes)}")
    _require_pairs(op, lhs, rhs, "contracting", (len(lhs) - 1,), (0,))
    _require_precisions(op)
    require_shape(op, op.results[0], (*lhs[:-1], *rhs[1:]), "inferred from lhs and rhs")


def _require_pairs(
    op: Operation, lhs: DimSizes, rhs: DimSizes, kind: str, lhs_dims: DimNumbers, rhs_dims: DimNumbers
) -> None:
    if len(lhs_dims) != len(rhs_dims):
        message = f"lhs and rhs must have equally many {kind} dims, got {len(lhs_dims)} and {len(rhs_dims)}"
        fail(op, "SDY-D014", message)
    for left, right in zip(lhs_dims, rhs_dims, strict=True):
        if lhs[left] != rhs[right] and DYNAMIC_INDEX not in (lhs[left], rhs[right]):
            message = f"dim {left} of lhs has size {lhs[left]} and dim {right} of rhs has size {rhs[right]}"
            fail(op, "SDY-D013", f"sizes of {kind} dims must match, but {message}")


def _require_precisions(op: Operation) -> None:
    config = cast("ArrayAttr[Attribute] | None", op.properties.get("precision_config"))
    if config is not None and len(config) not in (0, 2):
        fail(op, "SDY-D014", f"precision_config must have 0 or 2 entries, one per operand, got {len(config)}")


def _remaining_sizes(sizes: DimSizes, excluded: DimNumbers) -> list[int]:
    return [size for dim, size in enumerate(sizes) if dim not in excluded]


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
