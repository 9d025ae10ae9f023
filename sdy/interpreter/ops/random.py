"""Kernels of random numbers, and the counter-based generators Threefry and Philox, on arrays of words.

Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011). The layout of states, how they advance, and
the order of words in the output follow XLA.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from sdy.dialects.stablehlo import random as ops
from sdy.dialects.stablehlo.attributes.enums import RngAlgorithm, RngDistribution
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.interpreter.arrays.element_types import bit_width, dtype_of_type, is_integer
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform, with_unit_dims
from sdy.interpreter.ops.conversion import bitcast, converted
from sdy.model.shape import StaticShape

Words = NDArray[np.uint32]
LongWords = NDArray[np.uint64]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = np.uint32(0x1BD11BDA)
_PHILOX_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_PHILOX_KEY_STEPS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_LOW_WORD = np.uint64(0xFFFFFFFF)


def threefry2x32(key: tuple[Words, Words], counter: tuple[Words, Words]) -> tuple[Words, Words]:
    """Apply twenty rounds of Threefry to pairs of words."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ _THREEFRY_PARITY)
    left, right = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            left = left + right
            right = (right << np.uint32(distance)) | (right >> np.uint32(32 - distance))
            right = right ^ left
        left = left + keys[(group + 1) % 3]
        right = right + keys[(group + 2) % 3] + np.uint32(group + 1)
    return left, right


def philox4x32(key: tuple[Words, Words], counter: tuple[Words, Words, Words, Words]) -> tuple[Words, ...]:
    """Apply ten rounds of Philox to four words."""
    first, second, third, fourth = counter
    low_key, high_key = key
    for _ in range(10):
        product_a = first.astype(np.uint64) * _PHILOX_MULTIPLIERS[0]
        product_b = third.astype(np.uint64) * _PHILOX_MULTIPLIERS[1]
        first, second, third, fourth = (
            _high(product_b) ^ second ^ low_key,
            _low(product_b),
            _high(product_a) ^ fourth ^ high_key,
            _low(product_a),
        )
        low_key, high_key = low_key + _PHILOX_KEY_STEPS[0], high_key + _PHILOX_KEY_STEPS[1]
    return first, second, third, fourth


def threefry_bits(state: LongWords, shape: StaticShape, width: int) -> tuple[LongWords, NDArray[np.uint64]]:
    """Return the next state, and `width` random bits per element of `shape` in 64-bit integers.

    `state` holds key and counter of every device along its last dim.
    """
    if not shape:
        after, bits = threefry_bits(state, (1,), width)
        return after, bits[..., 0]
    key, counter = state[..., 0], state[..., 1]
    leading = key.shape
    pair_dim = None if width == 64 else _halved_dim(shape)
    half = (
        shape
        if pair_dim is None
        else tuple(-(-size // 2) if dim == pair_dim else size for dim, size in enumerate(shape))
    )
    steps = prod(half)
    numbers = counter[..., np.newaxis] + np.arange(steps, dtype=np.uint64)
    words = threefry2x32(_halves(key[..., np.newaxis]), _halves(numbers))
    after = np.stack([key, counter + np.uint64(steps)], axis=-1)
    if pair_dim is None:
        return after, _joined(*words).reshape(leading + shape)
    # Both words of a step are adjacent along one dim, which may then have one element too many.
    parts = [word.astype(np.uint64).reshape(leading + half) for word in words]
    place = len(leading) + pair_dim
    pairs = np.stack(parts, axis=place + 1).reshape(
        (*leading, *half[:pair_dim], 2 * half[pair_dim], *half[pair_dim + 1 :])
    )
    kept = pairs[(slice(None),) * place + (slice(shape[pair_dim]),)]
    return after, _narrowed(kept.reshape(leading + shape), width)


def philox_bits(state: LongWords, shape: StaticShape, width: int) -> tuple[LongWords, NDArray[np.uint64]]:
    """Return the same as `threefry_bits`, by Philox; the state is the key, then a 128-bit counter, low half first.

    If the state has no high half, the key is used in its place.
    """
    count = prod(shape)
    per_step = 2 if width == 64 else 4
    steps = -(-count // per_step)
    key, low = state[..., 0], state[..., 1]
    high = state[..., 2] if state.shape[-1] > 2 else key
    lows = low[..., np.newaxis] + np.arange(steps, dtype=np.uint64)
    highs = high[..., np.newaxis] + (lows < low[..., np.newaxis]).astype(np.uint64)
    words = philox4x32(_halves(key[..., np.newaxis]), (*_halves(lows), *_halves(highs)))
    if width == 64:
        columns = [_joined(words[0], words[1]), _joined(words[2], words[3])]
    else:
        columns = [word.astype(np.uint64) for word in words]
    bits = np.stack(columns, axis=-1).reshape((*state.shape[:-1], steps * per_step))[..., :count]
    next_low = low + np.uint64(steps)
    next_high = high + (next_low < low).astype(np.uint64)
    after = np.stack([key, next_low, next_high][: state.shape[-1]], axis=-1)
    return after, _narrowed(bits.reshape(state.shape[:-1] + shape), width)


def _halved_dim(shape: StaticShape) -> int:
    """Return the dim along which a step produces two elements: the first of even size, else the first largest."""
    even = (dim for dim, size in enumerate(shape) if size % 2 == 0)
    return next(even, shape.index(max(shape)))


def _narrowed(bits: LongWords, width: int) -> LongWords:
    return bits if width == 64 else bits & np.uint64((1 << width) - 1)


def _halves(long: LongWords) -> tuple[Words, Words]:
    """Return the low and the high word."""
    return _low(long), _high(long)


def _low(long: LongWords) -> Words:
    return (long & _LOW_WORD).astype(np.uint32)


def _high(long: LongWords) -> Words:
    return (long >> np.uint64(32)).astype(np.uint32)


def _joined(low: Words, high: Words) -> LongWords:
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


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
