"""Kernels of random numbers."""

from __future__ import annotations

import numpy as np

from sdy.dialects.stablehlo import random as ops
from sdy.dialects.stablehlo.attributes.enums import RngAlgorithm, RngDistribution
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.interpreter.arrays.element_types import bit_width, dtype_of_type, is_integer
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform, with_unit_dims
from sdy.interpreter.ops.bit_generators import philox_bits, threefry_bits
from sdy.interpreter.ops.conversion import bitcast, converted

KERNELS = KernelTable()
RANDOM_BITS = (8, 16, 32, 64)  # the widths of elements


@KERNELS.of(ops.RngBitGeneratorOp)
def rng_bit_generator(op: ops.RngBitGeneratorOp) -> Kernel:
    """Return the next state and random bits, as XLA computes them; the default algorithm is Philox."""
    generate = threefry_bits if op.rng_algorithm.data is RngAlgorithm.THREE_FRY else philox_bits
    shape, dtype = shape_of(op.output), dtype_of_type(op.output.type)
    if bit_width(dtype) not in RANDOM_BITS:
        raise failure("SDY-X018", f"random bits must have elements of 8, 16, 32 or 64 bits, got {op.output.type}")
    words = (2,) if generate is threefry_bits else (2, 3)
    if len(shape_of(op.initial_state)) != 1 or shape_of(op.initial_state)[0] not in words:
        expected = " or ".join(map(str, words))
        raise failure("SDY-X018", f"the state must have {expected} elements, got {op.initial_state.type}")
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (state,) = arrays
        after, bits = generate(state.astype(np.uint64), shape, bit_width(dtype))
        return after.astype(state.dtype), bitcast(bits.astype(unsigned), dtype)

    return kernel


@KERNELS.of(ops.RngOp)
def rng(op: ops.RngOp) -> Kernel:
    """Draw uniformly between `a` and `b`, or normally with mean `a` and deviation `b`; each device draws its own."""
    dtype, is_uniform = dtype_of_type(op.result.type), op.rng_distribution.data is RngDistribution.UNIFORM

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        a, b, shape = arrays
        sizes = tuple(uniform(context, shape, "the shape of the result").tolist())
        low, high = (with_unit_dims(context, bound.astype(np.float64), len(sizes)) for bound in (a, b))
        draw = context.host.random
        if is_uniform:
            numbers = np.add(low, np.multiply(draw.random(context.batch + sizes), np.subtract(high, low)))
            numbers = np.floor(numbers) if is_integer(dtype) else numbers
        else:
            numbers = np.add(low, np.multiply(draw.standard_normal(context.batch + sizes), high))
        return (converted(numbers, dtype),)

    return kernel
