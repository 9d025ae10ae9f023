"""Kernels of the ops that compute floats by themselves, on numbers of a finite field.

Ops that only move elements, and those that compute by regions, products or the functions of this package, run in the
kernels that they have for floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import broadcast as chlo_broadcast
from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo import structured
from sdy.dialects.chlo.broadcast import plain_op
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo import contraction, linalg, random, shape
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonType, FftType
from sdy.dialects.stablehlo.attributes.types import rank_of, shape_of
from sdy.dialects.stablehlo.calls import CustomCallOp, is_lapack_call
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type, is_bool, is_complex
from sdy.interpreter.arrays.field_types import (
    COMPLEX,
    Residues,
    is_field,
    of_parts,
    parts_of,
)
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.failure import failure
from sdy.interpreter.field import functions
from sdy.interpreter.field.numbers import Bits, Field, mixed
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, field_of, uniform, with_unit_dims
from sdy.interpreter.ops import chlo as chlo_kernels
from sdy.interpreter.ops import elementwise
from sdy.interpreter.ops.chlo import broadcast_first
from sdy.interpreter.ops.contraction import einsum_subscripts
from sdy.interpreter.ops.conversion import converted

KERNELS = KernelTable()


def _pointwise(function: functions.Function) -> Kernel:
    return lambda context, arrays: (function(field_of(context), *arrays),)


FUNCTIONS: dict[type[Operation], functions.Function] = {
    **{
        each: partial(functions.hashed, each.name.partition(".")[2])
        for each in (*elementwise.FUNCTIONS, *chlo_kernels.FUNCTIONS)
    },
    **functions.EXACT,
}


@KERNELS.of(*FUNCTIONS)
def function_of_elements(op: Operation) -> Kernel:
    """Apply the function of the op to its elements."""
    return _pointwise(FUNCTIONS[type(op)])


# The ops without broadcasting whose functions these have.
_PLAIN: dict[type[Operation], type[Operation]] = {
    **{each: plain for each in chlo_broadcast.OPS if (plain := plain_op(each)) in FUNCTIONS},
    chlo_broadcast.BroadcastNextAfterOp: chlo.NextAfterOp,
    chlo_broadcast.BroadcastPolygammaOp: chlo.PolygammaOp,
    chlo_broadcast.BroadcastZetaOp: chlo.ZetaOp,
}


@KERNELS.of(*_PLAIN)
def function_of_broadcast_elements(op: Operation) -> Kernel:
    """Broadcast the operands and apply the function of the op."""
    return broadcast_first(op, _pointwise(FUNCTIONS[_PLAIN[type(op)]]))


@KERNELS.of(ops.CompareOp, chlo_broadcast.BroadcastCompareOp)
def compare(op: ops.CompareOp | chlo_broadcast.BroadcastCompareOp) -> Kernel:
    """Compare by the order of the field."""
    is_total = op.compare_type is not None and op.compare_type.data.value == ComparisonType.TOTALORDER.value
    kernel = _pointwise(partial(functions.compared, op.comparison_direction.data.value, is_total=is_total))
    return kernel if isinstance(op, ops.CompareOp) else broadcast_first(op, kernel)


@KERNELS.of(ops.ClampOp)
def clamp(op: ops.ClampOp) -> Kernel:
    """Limit to a range; bounds of rank 0 apply to all elements."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        low, operand, high = arrays
        low, high = (with_unit_dims(context, bound, operand.ndim - bound.ndim) for bound in (low, high))
        return (functions.clamp(field_of(context), low, operand, high),)

    return kernel


@KERNELS.of(ops.ConvertOp)
def convert(op: ops.ConvertOp) -> Kernel:
    """Convert to or from numbers of the field; they become integers and floats as they are usually ordered."""
    return _pointwise(partial(converted_elements, dtype_of_type(op.result.type)))


def converted_elements(dtype: DType, field: Field, operand: Array) -> Array:
    """Return the elements as those of another dtype, of which at least one is that of a field."""
    if not is_field(operand.dtype):
        parts = (np.real(operand), np.imag(operand)) if is_complex(operand.dtype) else (operand,)
        residues = tuple(map(field.of_array, parts))
    else:
        residues = parts_of(operand)
    if is_field(dtype):
        both = (*residues, np.zeros_like(residues[0]))
        return of_parts(*both[: 2 if dtype == COMPLEX else 1])
    if is_bool(dtype):
        return np.logical_or.reduce([part != 0 for part in residues])
    numbers = field.fixed_point(residues[0])
    if is_complex(dtype) and len(residues) > 1:
        return (numbers + 1j * field.fixed_point(residues[1])).astype(dtype)
    return converted(numbers, dtype)


@KERNELS.of(shape.ConstantOp, structured.ConstantOp, ShardedConstantOp)
def constant(op: shape.ConstantOp | structured.ConstantOp | ShardedConstantOp) -> Kernel:
    """Return the numbers for the constant as the program writes it, in the type that it declares.

    Raises: SdyError SDY-X002 if it lists no elements.
    """
    if not isinstance(op.value, DenseElementsAttr):
        raise failure("SDY-X002", f"the interpreter needs the elements of a constant, got {op.value}")
    array, is_splat = array_of(op.value.data), op.value.is_splat
    once = array.reshape(-1)[:1].reshape((1,) * array.ndim) if is_splat and array.size else array
    dtype = dtype_of_type(op.results[0].type)
    known: dict[Field, Array] = {}  # of the field of the run; a body of a loop runs the op again and again

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        field = field_of(context)
        if field not in known:
            known.clear()
            known[field] = np.broadcast_to(converted_elements(dtype, field, once), array.shape)
        return (context.replicated(known[field]),)

    return kernel


@KERNELS.of(shape.IotaOp, shape.DynamicIotaOp)
def iota(op: shape.IotaOp | shape.DynamicIotaOp) -> Kernel:
    """Return the index along one dim, of a shape that may be an operand."""
    dim, dtype = op.iota_dimension.value.data, dtype_of_type(op.results[0].type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        sizes = tuple(uniform(context, arrays[0], "the shape").tolist()) if arrays else shape_of(op.results[0])
        indices = np.arange(sizes[dim]).reshape(tuple(size if place == dim else 1 for place, size in enumerate(sizes)))
        numbers = converted_elements(dtype, field_of(context), indices)
        return (context.replicated(np.broadcast_to(numbers, sizes)),)

    return kernel


@KERNELS.of(contraction.EinsumOp)
def einsum(op: contraction.EinsumOp) -> Kernel:
    """Multiply, and sum over the letters that the result lacks."""
    product = partial(np.einsum, einsum_subscripts(op))

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        left, right = (parts_of(array)[0] for array in arrays)
        return (of_parts(field_of(context).bilinear(product, left, right)),)

    return kernel


@KERNELS.of(contraction.UnaryEinsumOp)
def unary_einsum(op: contraction.UnaryEinsumOp) -> Kernel:
    """Sum over the letters that the result lacks."""
    subscripts = einsum_subscripts(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        sums = (field_of(context).reduced(np.einsum(subscripts, part)) for part in parts_of(arrays[0]))
        return (of_parts(*sums),)

    return kernel


@KERNELS.of(structured.ConstantLikeOp)
def constant_like(op: structured.ConstantLikeOp) -> Kernel:
    """Return an array of the operand's shape filled with one value."""
    element, dtype = np.array(op.value.value.data), dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        number = converted_elements(dtype, field_of(context), element)
        return (context.replicated(np.broadcast_to(number, context.local(arrays[0]))),)

    return kernel


@KERNELS.of(random.RngOp)
def rng(op: random.RngOp) -> Kernel:
    """Draw numbers of the field, scaled by the bounds; each device draws its own."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        field = field_of(context)
        sizes = tuple(uniform(context, arrays[2], "the shape of the result").tolist())
        low, high = (with_unit_dims(context, bound, len(sizes)) for bound in arrays[:2])
        drawn = context.host.random.integers(0, 2**63, context.batch + sizes).astype(np.uint64)
        range_of_numbers = functions.subtract(field, high, low)
        return (functions.add(field, low, functions.multiply(field, of_parts(field.of_bits(drawn)), range_of_numbers)),)

    return kernel


@KERNELS.of(linalg.FftOp)
def fft(op: linalg.FftOp) -> Kernel:
    """Multiply each dim by a fixed pseudo-random matrix of its length: a linear function, as the transform is."""
    lengths, kind = ints_of(op.fft_length), op.fft_type.data
    is_inverse = kind in (FftType.IFFT, FftType.IRFFT)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        field = field_of(context)
        (result,) = arrays
        for place, length in reversed(list(enumerate(lengths, start=-len(lengths)))):
            halves = place == -1 and kind in (FftType.RFFT, FftType.IRFFT)
            sizes = {FftType.RFFT: (length, length // 2 + 1), FftType.IRFFT: (length // 2 + 1, length)}
            rows, columns = sizes[kind] if halves else (length, length)
            matrix = _random_matrix(field, f"fft {length} {is_inverse} {halves}", rows, columns)
            moved = np.moveaxis(result, place, -1)
            if len(parts_of(moved)) == 1:
                moved = converted_elements(COMPLEX, field, moved)
            product = functions.elements_product(field, moved[..., np.newaxis, :], matrix)[..., 0, :]
            result = np.moveaxis(product, -1, place)
        return (of_parts(parts_of(result)[0]) if kind is FftType.IRFFT else result,)

    return kernel


def _random_matrix(field: Field, name: str, rows: int, columns: int) -> Array:
    places = np.arange(2 * rows * columns, dtype=np.float64).reshape(2, rows, columns)
    return of_parts(*field.hashed(name, places))


@KERNELS.of(linalg.CholeskyOp)
def cholesky(op: linalg.CholeskyOp) -> Kernel:
    """Return pseudo-random numbers, functions of all elements of a matrix: only batch dims are sharded."""
    return _of_all_elements(op, max(rank_of(op.operands[0]) - 2, 0))


@KERNELS.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> Kernel:
    """Return pseudo-random numbers for a call of LAPACK, or one without a kernel.

    The former are functions of all elements of a matrix, the latter of all elements of their operands.
    """
    return _of_all_elements(op, max(rank_of(op.operands[0]) - 2, 0) if is_lapack_call(op) else 0)


def _of_all_elements(op: Operation, batch_rank: int) -> Kernel:
    results = [(shape_of(each)[batch_rank:], dtype_of_type(each.type)) for each in op.results]
    stated = sorted({**op.properties, **op.attributes}.items())
    name = "".join(f" {key} = {each}" for key, each in stated if not key.startswith(("sdy.", "mhlo.sharding")))

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        field, rank = field_of(context), context.rank + batch_rank
        digests = field.seed(op.name + name)
        for array in arrays:
            columns = parts_of(array) if is_field(array.dtype) else (array.astype(np.float64),)
            for column in columns:
                digests = mixed(digests ^ _digest(column, rank))
        found: list[Array] = []
        for index, (sizes, dtype) in enumerate(results):
            parts = 2 if dtype == COMPLEX else 1
            places = np.arange(parts * prod(sizes), dtype=np.uint64) + np.uint64((index + 1) << 40)
            bits = mixed(digests[..., np.newaxis] + places).reshape((*digests.shape, parts, *sizes))
            found.append(_numbers_of(field, np.moveaxis(bits, len(digests.shape), 0), dtype, sizes))
        return tuple(found)

    return kernel


def _digest(column: Residues, rank: int) -> Bits:
    """Return bits that depend on all elements of the tensors whose dims come after `rank` dims."""
    flat = np.add(column, 0.0).reshape((*column.shape[:rank], prod(column.shape[rank:]))).view(np.uint64)
    places = np.arange(flat.shape[-1], dtype=np.uint64)
    return np.add.reduce(mixed(flat + mixed(places)), axis=-1, dtype=np.uint64)


def _numbers_of(field: Field, bits: Bits, dtype: DType, sizes: Sequence[int]) -> Array:
    if is_field(dtype):
        return of_parts(*map(field.of_bits, bits))
    if not sizes:  # whether the routine failed: it did not
        return np.zeros(bits.shape[1:], dtype)
    return (1 + np.mod(bits[0], np.uint64(sizes[-1]))).astype(dtype)  # rows that are exchanged
