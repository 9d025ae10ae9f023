"""Conversion between floats and the bits of every MLIR float format.

A format is defined by the widths of its exponent and mantissa, its bias, and its encoding of infinity and NaN. Values
are Python floats, which represent every supported format exactly. f80 and f128 are not supported.
"""

from __future__ import annotations

import math
import struct
from enum import Enum
from functools import cache
from typing import NamedTuple


class Specials(Enum):
    """The encoding of infinity and NaN in a format."""

    IEEE = "all-ones exponent: infinity, or NaN with a mantissa"
    ALL_ONES_NAN = "no infinity; NaN is all ones"
    NEGATIVE_ZERO_NAN = "no infinity and no -0; NaN is what would be -0"
    NONE = "neither infinity nor NaN"


class FloatFormat(NamedTuple):
    """A binary float format: a sign (unless `signed` is False), `exponent_bits` and `mantissa_bits`."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Specials = Specials.IEEE
    signed: bool = True

    @property
    def width(self) -> int:
        """The number of bits of a value."""
        return int(self.signed) + self.exponent_bits + self.mantissa_bits

    @property
    def byte_width(self) -> int:
        """The number of bytes of a value in memory; formats narrower than a byte take one byte."""
        return (self.width + 7) // 8


FLOAT_FORMATS: dict[str, FloatFormat] = {
    "f64": FloatFormat(11, 52, 1023),
    "f32": FloatFormat(8, 23, 127),
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "tf32": FloatFormat(8, 10, 127),
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3": FloatFormat(4, 3, 7),
    "f8E3M4": FloatFormat(3, 4, 3),
    "f8E4M3FN": FloatFormat(4, 3, 7, Specials.ALL_ONES_NAN),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, Specials.NEGATIVE_ZERO_NAN),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, Specials.NEGATIVE_ZERO_NAN),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, Specials.NEGATIVE_ZERO_NAN),
    "f8E8M0FNU": FloatFormat(8, 0, 127, Specials.ALL_ONES_NAN, signed=False),
    "f6E2M3FN": FloatFormat(2, 3, 1, Specials.NONE),
    "f6E3M2FN": FloatFormat(3, 2, 3, Specials.NONE),
    "f4E2M1FN": FloatFormat(2, 1, 1, Specials.NONE),
}

_F64_NAN_BITS = 0x7FF << 52  # the exponent of NaN; it has a mantissa too


def bits_of(value: float, layout: FloatFormat) -> int:
    """Return the bit pattern of `value`, rounded to nearest, ties to even.

    Values beyond the largest finite one become infinity, NaN or the largest value, depending on the format.
    """
    if layout.specials is Specials.IEEE and layout.width == 64:
        return int.from_bytes(struct.pack("<d", value), "little")
    sign = int(math.copysign(1.0, value) < 0)
    if math.isnan(value):
        return _nan_bits(value, layout)
    magnitude = _magnitude_bits(abs(value), layout)
    if magnitude > _largest_magnitude(layout):
        return _overflow_bits(layout, sign)
    if not layout.signed or (magnitude == 0 and layout.specials is Specials.NEGATIVE_ZERO_NAN):
        return magnitude
    return sign << (layout.width - 1) | magnitude


def float_of(bits: int, layout: FloatFormat) -> float:
    """Return the value of a bit pattern. A NaN keeps its sign and its mantissa, which `bits_of` returns again."""
    sign = -1.0 if layout.signed and bits >> (layout.width - 1) else 1.0
    magnitude = bits & ((1 << (layout.exponent_bits + layout.mantissa_bits)) - 1)
    if layout.specials is Specials.NEGATIVE_ZERO_NAN and sign < 0 and magnitude == 0:
        return math.nan
    if magnitude > _largest_magnitude(layout):
        mantissa = magnitude & ((1 << layout.mantissa_bits) - 1)
        if layout.specials is not Specials.IEEE:
            return math.copysign(math.nan, sign)
        return _nan(sign, mantissa, layout) if mantissa else math.copysign(math.inf, sign)
    exponent = magnitude >> layout.mantissa_bits
    mantissa = magnitude & ((1 << layout.mantissa_bits) - 1)
    if exponent == 0 and layout.signed:
        return sign * math.ldexp(mantissa, 1 - layout.bias - layout.mantissa_bits)
    return sign * math.ldexp(mantissa + (1 << layout.mantissa_bits), exponent - layout.bias - layout.mantissa_bits)


def _magnitude_bits(value: float, layout: FloatFormat) -> int:
    """Return the exponent and mantissa bits of a non-negative value, out of range if the value is."""
    if math.isinf(value):
        return 1 << layout.width
    if value == 0.0:
        return 0
    exponent = max(math.frexp(value)[1] - 1, 1 - layout.bias) if layout.signed else math.frexp(value)[1] - 1
    # round() rounds ties to even. If the mantissa overflows, the addition below carries into the exponent.
    scaled = round(math.ldexp(value, layout.mantissa_bits - exponent))
    biased = exponent + layout.bias
    return (biased << layout.mantissa_bits) + scaled - (1 << layout.mantissa_bits)


def _largest_magnitude(layout: FloatFormat) -> int:
    patterns = 1 << (layout.exponent_bits + layout.mantissa_bits)
    match layout.specials:
        case Specials.IEEE:
            return patterns - (1 << layout.mantissa_bits) - 1
        case Specials.ALL_ONES_NAN:
            return patterns - 2
        case Specials.NEGATIVE_ZERO_NAN | Specials.NONE:
            return patterns - 1


def _nan(sign: float, mantissa: int, layout: FloatFormat) -> float:
    """Return the NaN whose mantissa begins with `mantissa`, which arithmetic would set to that of another NaN."""
    bits = (_F64_NAN_BITS if sign > 0 else 1 << 63 | _F64_NAN_BITS) | mantissa << (52 - layout.mantissa_bits)
    value: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return value


def _nan_bits(value: float, layout: FloatFormat) -> int:
    """Return the bits of a NaN: the first bits of its mantissa, but that of a quiet NaN if they are zero."""
    sign = int(math.copysign(1.0, value) < 0)
    ones = (1 << (layout.exponent_bits + layout.mantissa_bits)) - 1
    match layout.specials:
        case Specials.IEEE:
            f64_mantissa = int.from_bytes(struct.pack("<d", value), "little") & ((1 << 52) - 1)
            mantissa = f64_mantissa >> (52 - layout.mantissa_bits) or 1 << (layout.mantissa_bits - 1)
            return sign << (layout.width - 1) | ones >> layout.mantissa_bits << layout.mantissa_bits | mantissa
        case Specials.ALL_ONES_NAN:
            return (sign << (layout.width - 1) if layout.signed else 0) | ones
        case Specials.NEGATIVE_ZERO_NAN:
            return 1 << (layout.width - 1)
        case Specials.NONE:
            return 0


def _overflow_bits(layout: FloatFormat, sign: int) -> int:
    match layout.specials:
        case Specials.IEEE:
            return sign << (layout.width - 1) | (_largest_magnitude(layout) + 1)
        case Specials.NONE:
            return sign << (layout.width - 1) | _largest_magnitude(layout)
        case Specials.ALL_ONES_NAN | Specials.NEGATIVE_ZERO_NAN:
            return _nan_bits(math.copysign(math.nan, -sign), layout)


@cache
def float_text(bits: int, layout: FloatFormat) -> str:
    """Return the value of a bit pattern as MLIR prints it.

    That is six significant digits in scientific notation if they are exact, otherwise as many digits as the format
    holds,
    otherwise the bits in hexadecimal, as for infinity and NaN.
    """
    value = float_of(bits, layout)
    if math.isfinite(value):
        digits, exponent = _decimal_digits(value, 6)
        short = f"{_scientific(value, digits.ljust(7, '0'))}e{exponent:+03d}"
        if bits_of(float(short), layout) == bits:
            return short
        plain = _shortest_notation(value, layout)
        if "." in plain:
            return plain
    return f"0x{bits:0{(layout.width + 3) // 4}X}"


def _decimal_digits(value: float, precision: int) -> tuple[str, int]:
    """Return about `precision` significant digits without trailing zeros, and the decimal exponent of the first.

    LLVM first truncates the exact decimal number to a length estimated from its bits, then rounds the remaining extra
    digits
    half up. Both steps are repeated here, because they determine the last digit.
    """
    numerator, denominator = abs(value).as_integer_ratio()
    halvings = denominator.bit_length() - 1
    significand = numerator * 5**halvings
    spare_bits = significand.bit_length() - (precision * 196 + 58) // 59
    dropped_digits = max(spare_bits, 0) * 59 // 196
    digits = str(significand // 10**dropped_digits)
    exponent = len(digits) - 1 + dropped_digits - halvings
    digits = digits.rstrip("0") or "0"
    if len(digits) > precision:
        rounded = str(int(digits[:precision]) + (digits[precision] >= "5"))
        exponent += len(rounded) - precision
        digits = rounded.rstrip("0")
    return digits, exponent


def _scientific(value: float, digits: str) -> str:
    return f"{_sign(value)}{digits[0]}.{digits[1:] or '0'}"


def _shortest_notation(value: float, layout: FloatFormat) -> str:
    """Return all digits that the format holds, in scientific notation if the point would be more than 3 zeros away."""
    precision = 2 + (layout.mantissa_bits + 1) * 59 // 196
    digits, exponent = _decimal_digits(value, precision)
    trailing_zeros = exponent - (len(digits) - 1)
    if trailing_zeros > 3 or (trailing_zeros >= 0 and exponent + 1 > precision) or exponent < -3:
        return f"{_scientific(value, digits)}E{exponent:+d}"
    if trailing_zeros >= 0:
        return f"{_sign(value)}{digits}{'0' * trailing_zeros}"
    if exponent >= 0:
        return f"{_sign(value)}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    return f"{_sign(value)}0.{'0' * (-exponent - 1)}{digits}"


def _sign(value: float) -> str:
    return "-" if math.copysign(1.0, value) < 0 else ""
