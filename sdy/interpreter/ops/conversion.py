"""Convert element types: by value (`convert`), by bits (`bitcast_convert`), to lower float precision."""

from __future__ import annotations

import numpy as np

from sdy.interpreter.arrays.element_types import (
    Array,
    DType,
    bit_width,
    compute_dtype,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    is_sub_byte,
)
from sdy.interpreter.ops.arithmetic import unsigned_bits


def converted(operand: Array, dtype: DType) -> Array:
    """Convert values to `dtype`.

    Floats become integers by rounding toward 0 and saturating, NaN becomes 0; integers wrap; every nonzero value is
    true; complex numbers lose their imaginary part if the result is not complex.
    """
    if operand.dtype == dtype:
        return operand
    if is_complex(operand.dtype) and not is_complex(dtype):
        operand = np.real(operand)
    if is_bool(dtype):
        return operand.astype(compute_dtype(operand.dtype)) != 0
    if is_integer(dtype):
        return _to_integer(operand.astype(compute_dtype(operand.dtype)), dtype)
    if is_complex(dtype):
        return operand.astype(compute_dtype(operand.dtype)).astype(dtype)
    return _to_float(operand, dtype)


def _to_integer(operand: Array, dtype: DType) -> Array:
    wide = compute_dtype(dtype)
    if not is_float(operand.dtype):
        return operand.astype(wide).astype(dtype)
    bits = bit_width(dtype)
    low, end = (0.0, 2.0**bits) if wide.kind == "u" else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    truncated = np.trunc(operand)
    is_low, is_high = truncated < low, truncated >= end
    inside = np.where(is_low | is_high | np.isnan(truncated), np.zeros((), operand.dtype), truncated).astype(wide)
    largest = np.array(int(end) - 1, wide)
    return np.where(is_high, largest, np.where(is_low, np.array(int(low), wide), inside)).astype(dtype)


def _to_float(operand: Array, dtype: DType) -> Array:
    wide = compute_dtype(dtype)
    if wide == dtype or dtype == np.dtype(np.float16):
        return operand.astype(compute_dtype(operand.dtype)).astype(dtype)
    if is_integer(operand.dtype) or operand.dtype == np.dtype(np.float64):
        return _rounded_to_odd(operand.astype(np.float64)).astype(dtype)
    return operand.astype(wide).astype(dtype)


def _rounded_to_odd(operand: Array) -> Array:
    """Round f64 to odd f32, so that a second rounding to fewer bits equals one rounding of the f64.

    Inexact values are truncated toward 0 and their last bit is set, which avoids false ties.
    """
    rounded = operand.astype(np.float32)
    rounded = np.where(
        np.abs(rounded.astype(np.float64)) > np.abs(operand), np.nextafter(rounded, np.zeros((), np.float32)), rounded
    )
    is_inexact = (rounded.astype(np.float64) != operand) & np.isfinite(operand)
    return np.bitwise_or(rounded.view(np.uint32), is_inexact.astype(np.uint32)).view(np.float32)


def bitcast(operand: Array, dtype: DType) -> Array:
    """Reinterpret bits as `dtype`, least significant first.

    Narrower elements add a last dim; wider elements consume the last dim.
    """
    source, target = bit_width(operand.dtype), bit_width(dtype)
    if _is_byte_made(operand.dtype) and _is_byte_made(dtype):
        contiguous = np.asarray(operand, order="C")
        if source == target:
            return contiguous.view(dtype)
        return contiguous[..., np.newaxis].view(dtype) if source > target else contiguous.view(dtype)[..., 0]
    bits = _bits_of(operand)
    if source > target:
        bits = bits.reshape((*operand.shape, source // target, target))
    elif source < target:
        bits = bits.reshape((*operand.shape[:-1], target))
    return _of_bits(bits, dtype)


def _is_byte_made(dtype: DType) -> bool:
    return bit_width(dtype) == dtype.itemsize * 8


def _bits_of(operand: Array) -> Array:
    """Return the bits of every element along a new last dim."""
    if is_bool(operand.dtype):
        return operand[..., np.newaxis].astype(np.uint8)
    raw = unsigned_bits(operand) if is_sub_byte(operand.dtype) else np.asarray(operand, order="C")
    stored = raw[..., np.newaxis].view(np.uint8)
    return np.unpackbits(stored, axis=-1, bitorder="little")[..., : bit_width(operand.dtype)]


def _of_bits(bits: Array, dtype: DType) -> Array:
    """Return the elements whose bits are along the last dim."""
    if is_bool(dtype):
        return bits[..., 0] != 0
    stored = np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little")
    if is_sub_byte(dtype):
        return stored[..., 0].astype(dtype)
    return np.asarray(stored, order="C").view(dtype)[..., 0]


# Exponent bits, mantissa bits and bias of the formats whose bits `reduced_precision` handles.
_LAYOUTS: dict[str, tuple[int, int]] = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


def reduced_precision(operand: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to a format with these exponent and mantissa bits; the result keeps the dtype of `operand`.

    Ties round to even; overflow becomes infinity, values below the smallest normal number become 0.
    """
    if operand.dtype.name not in _LAYOUTS:
        return reduced_precision(operand.astype(np.float32), exponent_bits, mantissa_bits).astype(operand.dtype)
    own_exponent, own_mantissa = _LAYOUTS[operand.dtype.name]
    word = np.dtype(f"u{operand.dtype.itemsize}")
    bits = np.asarray(operand, order="C").view(word)
    sign_mask = np.array(1 << (own_exponent + own_mantissa), word)
    if mantissa_bits < own_mantissa:
        bits = _rounded_mantissa(bits, own_mantissa - mantissa_bits)
    if exponent_bits < own_exponent:
        bias = (1 << (own_exponent - 1)) - 1
        reduced_bias = (1 << (exponent_bits - 1)) - 1
        exponent = np.bitwise_and(bits, ((1 << own_exponent) - 1) << own_mantissa)
        sign = np.bitwise_and(bits, sign_mask)
        infinity = np.array(((1 << own_exponent) - 1) << own_mantissa, word)
        bits = np.where(exponent > (bias + reduced_bias) << own_mantissa, np.bitwise_or(sign, infinity), bits)
        bits = np.where(exponent <= (bias - reduced_bias) << own_mantissa, sign, bits)
    result = bits.view(operand.dtype)
    return np.where(np.isnan(operand), _quiet(operand, mantissa_bits), result)


def _rounded_mantissa(bits: Array, dropped: int) -> Array:
    """Round away the last `dropped` bits; a carry propagates into the exponent."""
    last_kept = np.bitwise_and(np.right_shift(bits, dropped), 1)
    half = np.add(last_kept, (1 << (dropped - 1)) - 1)
    word = bits.dtype
    keep = np.array(~((1 << dropped) - 1) & ((1 << (word.itemsize * 8)) - 1), word)
    return np.bitwise_and(np.add(bits, half.astype(word)), keep)


def _quiet(operand: Array, mantissa_bits: int) -> Array:
    """Return NaN, or positive infinity if no mantissa bit is left to distinguish them."""
    return operand if mantissa_bits else np.full_like(operand, np.inf)
