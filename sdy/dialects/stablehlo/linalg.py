"""Matrix factorizations, Fourier transforms, sorting and batch normalization."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, f32, i1, i64
from xdsl.irdl import (
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
from xdsl.traits import Pure, RecursiveMemoryEffect

from sdy.dialects.facts.traits import RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.enums import FftTypeAttr, TransposeAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.element_kinds import check_float_or_complex_operand
from sdy.dialects.stablehlo.checks.linalg import (
    check_batch_norm_grad,
    check_batch_norm_inference,
    check_batch_norm_training,
    check_cholesky,
    check_fft,
    check_sort,
    check_triangular_solve,
)
from sdy.dialects.stablehlo.syntax.clauses import BoolClause, EnumClause, IntsClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import SAME
from sdy.dialects.text.ssa_names import SuggestsResultNames


@irdl_op_definition
class CholeskyOp(FormattedOp):
    """Compute the triangular factor of positive definite matrices in the last two dims.

    `stablehlo.cholesky %0, lower = true : tensor<4x4xf32>`
    """

    name = "stablehlo.cholesky"
    a = operand_def()
    lower = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_cholesky, check_float_or_complex_operand)
    FORM: ClassVar[Form] = Form(clauses=(BoolClause("lower", "lower", is_optional=True),), signature=SAME)


@irdl_op_definition
class TriangularSolveOp(StablehloOp):
    """Solve op(a) x = b or x op(a) = b for x, for triangular matrices a in the last two dims."""

    name = "stablehlo.triangular_solve"
    a = operand_def()
    b = operand_def()
    left_side = prop_def(IntegerAttr.constr(i1))
    lower = prop_def(IntegerAttr.constr(i1))
    unit_diagonal = prop_def(IntegerAttr.constr(i1))
    transpose_a = prop_def(TransposeAttr)
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_triangular_solve, check_float_or_complex_operand)


@irdl_op_definition
class FftOp(FormattedOp):
    """Compute the Fourier transform over the last dims, or its inverse.

    `stablehlo.fft %0, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>`
    """

    name = "stablehlo.fft"
    operand = operand_def()
    fft_type = prop_def(FftTypeAttr)
    fft_length = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_fft,)
    FORM: ClassVar[Form] = Form(
        clauses=(EnumClause("type", "fft_type", FftTypeAttr), IntsClause("length", "fft_length"))
    )


@irdl_op_definition
class SortOp(StablehloOp):
    """Sort the inputs together along a dim, in the order that the comparator defines."""

    name = "stablehlo.sort"
    inputs = var_operand_def()
    dimension = opt_prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(-1, i64))
    is_stable = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = var_result_def()
    comparator = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_sort,)


class BatchNormOp(StablehloOp):
    """Base class of batch normalization: normalize each feature, then scale and shift it."""

    epsilon = prop_def(FloatAttr.constr(f32))
    feature_index = prop_def(IntegerAttr.constr(i64))
    traits = traits_def(Pure())


@irdl_op_definition
class BatchNormTrainingOp(BatchNormOp, SuggestsResultNames):
    """Normalize with the mean and variance of the batch, and return these as well."""

    name = "stablehlo.batch_norm_training"
    operand = operand_def()
    scale = operand_def()
    offset = operand_def()
    output = result_def()
    batch_mean = result_def()
    batch_var = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_batch_norm_training,)

    def result_names(self) -> tuple[str, str, str]:
        return ("output", "batch_mean", "batch_var")


@irdl_op_definition
class BatchNormInferenceOp(BatchNormOp):
    """Normalize with a given mean and variance."""

    name = "stablehlo.batch_norm_inference"
    operand = operand_def()
    scale = operand_def()
    offset = operand_def()
    mean = operand_def()
    variance = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_batch_norm_inference,)


@irdl_op_definition
class BatchNormGradOp(BatchNormOp, SuggestsResultNames):
    """Compute the gradients of `batch_norm_training` with respect to operand, scale and offset."""

    name = "stablehlo.batch_norm_grad"
    operand = operand_def()
    scale = operand_def()
    mean = operand_def()
    variance = operand_def()
    grad_output = operand_def()
    grad_operand = result_def()
    grad_scale = result_def()
    grad_offset = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_batch_norm_grad,)

    def result_names(self) -> tuple[str, str, str]:
        return ("grad_operand", "grad_scale", "grad_offset")


OPS = declared_ops(__name__)
