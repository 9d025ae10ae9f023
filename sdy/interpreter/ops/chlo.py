"""Kernels of CHLO: elementwise functions that StableHLO lacks, top_k and scan."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import broadcast, structured
from sdy.dialects.chlo import elementwise as ops
from sdy.dialects.chlo.broadcast import plain_op
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import (
    Array,
    DType,
    compute_dtype,
    dtype_of_type,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    is_signed,
)
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count, pointwise
from sdy.interpreter.ops import elementwise, special
from sdy.interpreter.ops.arithmetic import Compute, in_compute_dtype, in_exact_dtype, multiply
from sdy.interpreter.ops.conversion import converted
from sdy.interpreter.ops.elementwise import comparison, complex_of
from sdy.interpreter.ops.linalg import stable_order, total_order

KERNELS = KernelTable()


def in_double(function: Compute) -> Compute:
    """Return `function`, written for f64, for any real float dtype. It raises SdyError SDY-X018 for complex numbers."""

    def compute(*arrays: Array) -> Array:
        if is_complex(arrays[0].dtype):
            raise failure("SDY-X018", f"the op is defined for real floats, got {arrays[0].dtype}")
        return converted(np.asarray(function(*(array.astype(np.float64) for array in arrays))), arrays[0].dtype)

    return compute


def per_element(function: Callable[[float], float]) -> Compute:
    """Return a function of Python floats as a function of f64 arrays."""
    ufunc = np.frompyfunc(function, 1, 1)

    def compute(array: Array) -> Array:
        return np.asarray(ufunc(array), np.float64)

    return compute


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or a result above the largest f64
        return math.inf


def _test(function: Compute) -> Callable[[Array], Array]:
    """Return a test of floats for those of any dtype."""
    return lambda operand: function(operand.astype(compute_dtype(operand.dtype)))


def _square(operand: Array) -> Array:
    return multiply(operand, operand)


def high_product(lhs: Array, rhs: Array) -> Array:
    """Return the upper half of the bits of the full integer product."""
    dtype = lhs.dtype
    width = dtype.itemsize * 8
    if width < 64:
        wide = np.dtype(f"{'i' if is_signed(dtype) else 'u'}8")
        return np.right_shift(np.multiply(lhs.astype(wide), rhs.astype(wide)), width).astype(dtype)
    left, right = lhs.astype(np.uint64), rhs.astype(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    low = (left & mask) * (right & mask)
    cross = (left >> half) * (right & mask) + (low >> half)
    other = (left & mask) * (right >> half) + (cross & mask)
    high = (left >> half) * (right >> half) + (cross >> half) + (other >> half)
    if is_signed(dtype):
        # Read as unsigned, a negative factor is 2 ** 64 too large, which adds the other factor to the upper half.
        zero = np.uint64(0)
        high = high - np.where(np.less(lhs, 0), right, zero) - np.where(np.less(rhs, 0), left, zero)
    return high.astype(dtype)


def next_after(start: Array, goal: Array) -> Array:
    """Return the next float after `start` in the direction of `goal`.

    Raises: SdyError SDY-X018 if they are not real floats.
    """
    dtype = start.dtype
    if not is_float(dtype):
        raise failure("SDY-X018", f"next_after is defined for real floats, got {dtype}")
    if dtype in (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)):
        return np.nextafter(start, goal)
    left, right = (array.astype(np.float32) for array in (start, goal))
    bits = np.asarray(start, order="C").view(np.dtype(f"i{dtype.itemsize}"))
    smallest = np.copysign(np.array(1, bits.dtype).view(dtype).astype(np.float32), right).astype(dtype)
    away = np.equal(np.less(left, right), np.greater(left, 0))
    stepped = np.where(away, np.add(bits, 1), np.subtract(bits, 1)).astype(bits.dtype).view(dtype)
    moved = np.where(left == 0, smallest, stepped)
    return np.where(
        np.isnan(left) | np.isnan(right), np.add(left, right).astype(dtype), np.where(left == right, goal, moved)
    )


@in_compute_dtype
def cosh(operand: Array) -> Array:
    """Return the hyperbolic cosine.

    Real numbers use `exp(x + log(1/2)) + exp(log(1/2) - x)`, the formula of CHLO's lowering, equal in the last digits.
    """
    if is_complex(operand.dtype):
        return in_exact_dtype(np.cosh)(operand)
    growing, shrinking = _halved_exponentials(operand)
    return np.add(growing, shrinking)


@in_compute_dtype
def sinh(operand: Array) -> Array:
    """Return the hyperbolic sine.

    Real numbers use `exp(x + log(1/2)) - exp(log(1/2) - x)`, as CHLO's lowering, and `expm1` around 0.
    """
    if is_complex(operand.dtype):
        return in_exact_dtype(np.sinh)(operand)
    growing, shrinking = _halved_exponentials(operand)
    large = np.subtract(growing, shrinking)
    grown = in_exact_dtype(np.expm1)(operand)
    half = np.array(0.5, operand.dtype)
    small = np.multiply(half, np.add(grown, np.divide(grown, np.add(grown, np.ones((), operand.dtype)))))
    return np.where(np.less(np.abs(operand), 1), small, large)


def _halved_exponentials(operand: Array) -> tuple[Array, Array]:
    log_half = np.log(np.array(0.5, operand.dtype))
    exp = in_exact_dtype(np.exp)
    return exp(np.add(operand, log_half)), exp(np.subtract(log_half, operand))


FUNCTIONS: dict[type[Operation], Compute] = {
    ops.AcosOp: in_exact_dtype(np.arccos),
    ops.AcoshOp: in_exact_dtype(np.arccosh),
    ops.AsinOp: in_exact_dtype(np.arcsin),
    ops.AsinhOp: in_exact_dtype(np.arcsinh),
    ops.AtanOp: in_exact_dtype(np.arctan),
    ops.AtanhOp: in_exact_dtype(np.arctanh),
    ops.BesselI1eOp: in_double(special.bessel_i1e),
    ops.ConjOp: in_compute_dtype(np.conj),
    ops.CoshOp: cosh,
    ops.DigammaOp: in_double(special.digamma),
    ops.ErfOp: in_double(per_element(math.erf)),
    ops.ErfInvOp: in_double(special.erf_inv),
    ops.ErfcOp: in_double(per_element(math.erfc)),
    ops.IsInfOp: _test(np.isinf),
    ops.IsNegInfOp: _test(np.isneginf),
    ops.IsPosInfOp: _test(np.isposinf),
    ops.LgammaOp: in_double(per_element(_lgamma)),
    ops.MulhiOp: high_product,
    ops.NextAfterOp: next_after,
    ops.PolygammaOp: in_double(special.polygamma),
    ops.SinhOp: sinh,
    ops.SquareOp: _square,
    ops.TanOp: in_exact_dtype(np.tan),
    ops.ZetaOp: in_double(special.zeta),
}


@KERNELS.of(*FUNCTIONS)
def function_of_elements(op: Operation) -> Kernel:
    """Apply the function of the op to its elements."""
    return pointwise(FUNCTIONS[type(op)])


@KERNELS.of(structured.ConstantLikeOp)
def constant_like(op: structured.ConstantLikeOp) -> Kernel:
    """Return an array of the operand's shape filled with one value."""
    element = converted(np.array(op.value.value.data), dtype_of_type(op.result.type))
    return lambda context, arrays: (context.replicated(np.broadcast_to(element, context.local(arrays[0]))),)


@KERNELS.of(structured.TopKOp)
def top_k(op: structured.TopKOp) -> Kernel:
    """Return the k largest elements along the last dim in descending order, and their indices; NaN is the largest."""
    k = op.k.value.data
    index_dtype = dtype_of_type(op.indices.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (operand,) = arrays
        order = stable_order(total_order(context, operand), descending=True)[..., :k]
        return np.take_along_axis(operand, order, axis=-1), order.astype(index_dtype)

    return kernel


@KERNELS.of(structured.ScanOp)
def scan(op: structured.ScanOp) -> Kernel:
    """Run the body along a dim: it maps a slice of each input and the carried values to outputs and carried values."""
    block, captured_at = op.body.block, operand_count(op)
    count, output_count = len(op.inputs), len(op.outputs)
    dim, is_reverse = op.dimension.value.data, bool(op.is_reverse.value.data)
    empty = [np.zeros(shape_of(output), dtype_of_type(output.type)) for output in op.outputs]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        inputs, carries, captured = arrays[:count], arrays[count:captured_at], arrays[captured_at:]
        length = context.local(inputs[0])[dim] if inputs else shape_of(op.outputs[0])[dim]
        outputs: list[Arrays] = []
        for place in reversed(range(length)) if is_reverse else range(length):
            slices = tuple(np.take(array, place, axis=context.rank + dim) for array in inputs)
            results = context.runner.run_block(context, block, (*slices, *carries), captured)
            outputs.append(results[:output_count])
            carries = results[output_count:]
        if not outputs:
            return (*(context.replicated(array) for array in empty), *carries)
        columns = zip(*(outputs[::-1] if is_reverse else outputs), strict=True)
        return (*(np.stack(context.aligned(column), axis=context.rank + dim) for column in columns), *carries)

    return kernel


# The functions of the ops without broadcasting.
FUNCTIONS_OF_BROADCAST: dict[type[Operation], Compute] = {
    **{
        each: elementwise.FUNCTIONS[plain]
        for each in broadcast.OPS
        if (plain := plain_op(each)) in elementwise.FUNCTIONS
    },
    broadcast.BroadcastNextAfterOp: FUNCTIONS[ops.NextAfterOp],
    broadcast.BroadcastPolygammaOp: FUNCTIONS[ops.PolygammaOp],
    broadcast.BroadcastSelectOp: np.where,
    broadcast.BroadcastZetaOp: FUNCTIONS[ops.ZetaOp],
}
# The element types for which a function is defined. CHLO allows other ones, which the op without broadcasting does not.
DEFINED_FOR: dict[type[Operation], Callable[[DType], bool]] = {
    **dict.fromkeys(
        (broadcast.BroadcastAndOp, broadcast.BroadcastOrOp, broadcast.BroadcastXorOp),
        lambda dtype: is_integer(dtype) or is_bool(dtype),
    ),
    **dict.fromkeys(
        (
            broadcast.BroadcastShiftLeftOp,
            broadcast.BroadcastShiftRightArithmeticOp,
            broadcast.BroadcastShiftRightLogicalOp,
        ),
        is_integer,
    ),
    broadcast.BroadcastSubtractOp: lambda dtype: not is_bool(dtype),
}


@KERNELS.of(*FUNCTIONS_OF_BROADCAST)
def function_of_broadcast_elements(op: Operation) -> Kernel:
    """Broadcast the operands and apply the function of the op.

    Raises: SdyError SDY-X018 if it is not defined for their element type.
    """
    is_defined = DEFINED_FOR.get(type(op))
    if is_defined is not None and not is_defined(dtype_of_type(op.operands[0].type)):
        raise failure("SDY-X018", f"{op.name} is not defined for {op.operands[0].type}")
    return broadcast_first(op, pointwise(FUNCTIONS_OF_BROADCAST[type(op)]))


@KERNELS.of(broadcast.BroadcastCompareOp)
def broadcast_compare(op: broadcast.BroadcastCompareOp) -> Kernel:
    """Broadcast the operands and compare them."""
    compare_type = None if op.compare_type is None else op.compare_type.data
    return broadcast_first(op, pointwise(comparison(op.comparison_direction.data, compare_type)))


@KERNELS.of(broadcast.BroadcastComplexOp)
def broadcast_complex(op: broadcast.BroadcastComplexOp) -> Kernel:
    """Broadcast the operands and combine them to complex numbers."""
    return broadcast_first(op, pointwise(complex_of(dtype_of_type(op.result.type))))


def broadcast_first(op: Operation, plain: Kernel) -> Kernel:
    """Return the kernel that broadcasts the operands of an op to a common shape, and calls the one without it."""
    written = op.properties.get("broadcast_dimensions")
    dims = None if written is None else ints_of(written)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        rank = max(len(context.local(array)) for array in arrays)
        operands_of_rank = [_with_rank(context, array, dims, rank) for array in arrays]
        sizes = np.broadcast_shapes(*(context.local(array) for array in operands_of_rank))
        full = [np.broadcast_to(array, context.leading(array) + sizes) for array in operands_of_rank]
        return plain(context, tuple(full))

    return kernel


def _with_rank(context: KernelContext, array: Array, dims: tuple[int, ...] | None, rank: int) -> Array:
    """Return the array with `rank` dims: its own at `dims`, by default the last ones, and new dims of size 1."""
    local = context.local(array)
    if len(local) == rank:
        return array
    places = tuple(range(rank - len(local), rank)) if dims is None else dims
    size_along = dict(zip(places, local, strict=True))
    return array.reshape(context.leading(array) + tuple(size_along.get(dim, 1) for dim in range(rank)))
