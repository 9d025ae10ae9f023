"""Matrix factorizations, Fourier transforms, sorting and batch normalization, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
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
from sdy.dialects.stablehlo.attributes.enums import EnumDataAttr, FftType, FftTypeAttr, TransposeAttr
from sdy.dialects.stablehlo.attributes.types import scalar_of
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import check_results_like_operands, require_region
from sdy.dialects.stablehlo.checks.requirements import (
    check_float_or_complex_operand,
    fail,
    integer,
    ints,
    name_of,
    require_dims,
    require_same_element_type,
    require_same_shape,
    require_same_type,
    require_shape,
    shape,
    tensor,
)
from sdy.dialects.stablehlo.syntax.clauses import BoolClause, EnumClause, IntsClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import SAME
from sdy.dialects.text.ssa_names import SuggestsResultNames

MAX_FFT_RANK = 3


def check_cholesky(op: Operation) -> None:
    """Check that the last two dims hold square matrices, and that the result has the type of the operand."""
    require_same_type(op, (op.operands[0], op.results[0]))
    _require_square_matrices(op)


def check_triangular_solve(op: Operation) -> None:
    """Check that `a` holds square matrices whose size matches the rows (or columns) of `b`."""
    _require_square_matrices(op)
    require_same_type(op, (op.operands[1], op.results[0]))
    a, b = shape(op, op.operands[0]), shape(op, op.operands[1])
    dim = len(b) - 2 if integer(op, "left_side") else len(b) - 1
    if len(a) != len(b) or (a[-1] != b[dim] and DYNAMIC_INDEX not in (a[-1], b[dim])):
        message = f"{name_of(op, op.operands[0])} and {name_of(op, op.operands[1])} must have matching matrices"
        fail(op, "SDY-D013", message)


def check_fft(op: Operation) -> None:
    """Check that one to three last dims are transformed.

    For a real transform, the last dim of the spectrum has n / 2 + 1 elements.
    """
    kind = cast("EnumDataAttr[FftType]", op.properties["fft_type"]).data
    lengths = ints(op, "fft_length")
    operand = shape(op, op.operands[0])
    if not 1 <= len(lengths) <= min(MAX_FFT_RANK, len(operand)):
        bound = min(MAX_FFT_RANK, len(operand))
        fail(op, "SDY-D014", f"fft_length must have 1 to {bound} elements for rank {len(operand)}, got {len(lengths)}")
    half = lengths[-1] // 2 + 1
    before = (*lengths[:-1], half) if kind is FftType.IRFFT else lengths
    after = (*lengths[:-1], half) if kind is FftType.RFFT else lengths
    batch = operand[: len(operand) - len(lengths)]
    require_shape(op, op.operands[0], (*batch, *before), "inferred from fft_length")
    require_shape(op, op.results[0], (*batch, *after), "inferred from fft_length")
    before_element, after_element = tensor(op, op.operands[0]).element_type, tensor(op, op.results[0]).element_type
    real, spectrum = (after_element, before_element) if kind is FftType.IRFFT else (before_element, after_element)
    expected = ComplexType(cast(AnyFloat, real)) if kind in (FftType.RFFT, FftType.IRFFT) else real
    if kind in (FftType.FFT, FftType.IFFT) and not isinstance(real, ComplexType):
        fail(op, "SDY-D017", f"{name_of(op, op.operands[0])} must have complex elements for a transform {kind.value}")
    if spectrum != expected:
        types = f"{name_of(op, op.operands[0])} and {name_of(op, op.results[0])}"
        fail(op, "SDY-D012", f"{types} must have the element types of a {kind.value} transform")


def check_sort(op: Operation) -> None:
    """Check that inputs have the same shape and results their types; a negative dimension counts from the last dim."""
    if not op.operands:
        fail(op, "SDY-D001", "expected at least one operand")
    require_same_shape(op, op.operands)
    check_results_like_operands(op)
    rank = len(shape(op, op.operands[0]))
    dim = integer(op, "dimension") if "dimension" in op.properties else -1
    require_dims(op, "dimension", [dim + rank if dim < 0 else dim], rank, "the first input")
    expected = [scalar_of(tensor(op, operand)) for operand in op.operands for _ in range(2)]
    require_region(op, op.regions[0], "the comparator", expected, [TensorType(i1, [])])


def check_batch_norm_training(op: Operation) -> None:
    """Check that the output has the type of the operand; all other values have one element per feature."""
    operand, *parameters = op.operands
    output, *statistics = op.results
    _require_features(op, (operand, output), (*parameters, *statistics))


def check_batch_norm_inference(op: Operation) -> None:
    """Check that the result has the type of the operand; all other values have one element per feature."""
    _require_features(op, (op.operands[0], op.results[0]), op.operands[1:])


def check_batch_norm_grad(op: Operation) -> None:
    """Check that operand, grad_output and grad_operand have one type; all other values have one element per feature."""
    operand, *parameters, grad_output = op.operands
    grad_operand, *gradients = op.results
    _require_features(op, (operand, grad_output, grad_operand), (*parameters, *gradients))


def _require_features(op: Operation, batches: Sequence[SSAValue], features: Sequence[SSAValue]) -> None:
    require_same_type(op, batches)
    sizes = shape(op, batches[0])
    index = integer(op, "feature_index")
    require_dims(op, "feature_index", [index], len(sizes), "the operand")
    for value in features:
        require_shape(op, value, (sizes[index],), "one element per feature")
        require_same_element_type(op, (batches[0], value))


def _require_square_matrices(op: Operation) -> None:
    sizes = shape(op, op.operands[0])
    if len(sizes) < 2 or (sizes[-1] != sizes[-2] and DYNAMIC_INDEX not in sizes[-2:]):
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} must hold square matrices in its last two dims")


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


OPS = declared_ops(__name__)
