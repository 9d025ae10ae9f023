"""Codecs of tensor elements: how integers, floats and complex numbers of each MLIR type are stored and printed."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType, Signedness
from xdsl.ir import Attribute

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, FloatFormat, bits_of, float_of, float_text

Scalar = int | float | complex


class ElementCodec(ABC):
    """Converts elements of one type between Python values, bytes (little endian) and MLIR text."""

    byte_width: int  # the number of bytes of an element
    bit_width: int  # the number of significant bits of an element

    @abstractmethod
    def encode(self, value: Scalar) -> bytes:
        """Return the bytes of `value`. Raises: ValueError if it is out of range for the type."""

    @abstractmethod
    def decode(self, raw: bytes) -> Scalar:
        """Return the value of one element, which `raw` holds in `byte_width` bytes."""

    def encode_all(self, values: Sequence[Scalar]) -> bytes:
        """Return the bytes of several values. Raises: ValueError if one is out of range for the type."""
        return b"".join(map(self.encode, values))

    def decode_all(self, raw: bytes) -> tuple[Scalar, ...]:
        """Return the values of several elements."""
        width = self.byte_width
        return tuple(self.decode(raw[start : start + width]) for start in range(0, len(raw), width))

    @abstractmethod
    def text(self, raw: bytes) -> str:
        """Return the element as MLIR prints it."""

    @abstractmethod
    def encode_text(self, text: str) -> bytes:
        """Return the bytes of a literal.

        Raises: ValueError, with a message for the user, if the literal is invalid for the type.
        """


STRUCT_FORMATS = {8: "b", 16: "h", 32: "i", 64: "q"}  # format characters of the module `struct`, by bit width


class IntCodec(ElementCodec):
    """Integers of `width` bits, stored in whole bytes.

    A signless integer is decoded as signed; both signed and unsigned values are encoded.
    """

    def __init__(self, width: int, signedness: Signedness) -> None:
        self.bit_width = width
        self.byte_width = (width + 7) // 8
        self.signedness = signedness

    @property
    def _range(self) -> tuple[int, int]:
        low = 0 if self.signedness is Signedness.UNSIGNED else -(1 << (self.bit_width - 1))
        high = (1 << (self.bit_width - (self.signedness is Signedness.SIGNED))) - 1
        return low, high

    def encode(self, value: Scalar) -> bytes:
        low, high = self._range
        if not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"expected an integer from {low} to {high}, got {value}")
        return (value & ((1 << self.bit_width) - 1)).to_bytes(self.byte_width, "little")

    def decode(self, raw: bytes) -> int:
        value = int.from_bytes(raw, "little") & ((1 << self.bit_width) - 1)
        is_signed = self.signedness is not Signedness.UNSIGNED and self.bit_width > 1
        return value - (1 << self.bit_width) if is_signed and value >> (self.bit_width - 1) else value

    def encode_all(self, values: Sequence[Scalar]) -> bytes:
        if self.bit_width in STRUCT_FORMATS:
            with suppress(struct.error):  # a value is out of range, or unsigned in a signless type: encode one by one
                return struct.pack(self._format(len(values)), *values)
        return super().encode_all(values)

    def decode_all(self, raw: bytes) -> tuple[Scalar, ...]:
        if self.bit_width in STRUCT_FORMATS:
            return struct.unpack(self._format(len(raw) // self.byte_width), raw)
        return super().decode_all(raw)

    def _format(self, count: int) -> str:
        format_character = STRUCT_FORMATS[self.bit_width]
        return f"<{count}{format_character.upper() if self.signedness is Signedness.UNSIGNED else format_character}"

    def text(self, raw: bytes) -> str:
        value = self.decode(raw)
        return ("false", "true")[value] if self.bit_width == 1 else str(value)

    def encode_text(self, text: str) -> bytes:
        if text in ("true", "false"):
            if self.bit_width != 1:
                raise ValueError(f"{text} requires a 1-bit integer type")
            return self.encode(int(text == "true"))
        try:
            value = int(text, 16 if "x" in text else 10)
        except ValueError:
            raise ValueError(f"expected an integer, got {text}") from None
        return self.encode(value)


class FloatCodec(ElementCodec):
    """Floats of a binary format."""

    def __init__(self, layout: FloatFormat) -> None:
        self.layout = layout
        self.byte_width, self.bit_width = layout.byte_width, layout.width

    def encode(self, value: Scalar) -> bytes:
        if isinstance(value, complex):
            raise ValueError(f"expected a real number, got {value}")
        return bits_of(float(value), self.layout).to_bytes(self.byte_width, "little")

    def decode(self, raw: bytes) -> float:
        return float_of(int.from_bytes(raw, "little"), self.layout)

    def text(self, raw: bytes) -> str:
        return float_text(int.from_bytes(raw, "little"), self.layout)

    def encode_text(self, text: str) -> bytes:
        if text.startswith("0x"):
            bits = int(text, 16)
            if bits >> self.layout.width:
                raise ValueError(f"expected at most {self.layout.width} bits, got {text}")
            return bits.to_bytes(self.byte_width, "little")
        if "." not in text:
            raise ValueError(f"expected a float literal with a decimal point, got {text}")
        return self.encode(float(text))


class ComplexCodec(ElementCodec):
    """Pairs of a real and an imaginary part."""

    def __init__(self, part: ElementCodec) -> None:
        self.part = part
        self.byte_width, self.bit_width = 2 * part.byte_width, 2 * part.bit_width

    def encode(self, value: Scalar) -> bytes:
        number = complex(value)
        return self.part.encode(number.real) + self.part.encode(number.imag)

    def decode(self, raw: bytes) -> complex:
        half = self.part.byte_width
        real, imaginary = self.part.decode(raw[:half]), self.part.decode(raw[half:])
        return complex(real.real, imaginary.real)

    def text(self, raw: bytes) -> str:
        half = self.part.byte_width
        return f"({self.part.text(raw[:half])},{self.part.text(raw[half:])})"

    def encode_text(self, text: str) -> bytes:
        if not text.startswith("("):
            raise ValueError(f"expected a complex literal (real,imaginary), got {text}")
        real, imaginary = text[1:-1].split(",")
        return self.part.encode_text(real) + self.part.encode_text(imaginary)


@cache
def codec_of(element_type: Attribute) -> ElementCodec | None:
    """Return the codec of an element type, or None for a type without literals."""
    if isinstance(element_type, IntegerType):
        integer = cast("IntegerType[int, Signedness]", element_type)
        return IntCodec(integer.width.data, integer.signedness.data)
    if isinstance(element_type, IndexType):
        return IntCodec(64, Signedness.SIGNLESS)
    if isinstance(element_type, AnyFloat):
        layout = FLOAT_FORMATS.get(element_type.name)
        return FloatCodec(layout) if layout is not None else None
    if isinstance(element_type, ComplexType):
        part = codec_of(cast(Attribute, element_type.element_type))
        return ComplexCodec(part) if part is not None else None
    return None
