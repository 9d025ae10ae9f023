"""The quantized element types of MLIR's dialect `quant`, which StableHLO tensors may have.

!quant.uniform<i8:f32, 2.000000e-01:15>                   one scale, and a zero point where it is not 0
!quant.uniform<u8<1:255>:f32:1, {1.000000e-01,2.000000e-01:3}>   one per slice along an axis; a narrower range
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Data, Dialect, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

MAX_STORAGE_BITS = 32


@dataclass(frozen=True, slots=True)
class Storage:
    """The integers that are stored: `i8`, `u4`, and what part of their range is used."""

    is_signed: bool
    width: int
    least: int
    most: int

    @property
    def limits(self) -> tuple[int, int]:
        """The whole range."""
        if self.is_signed:
            return -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        return 0, (1 << self.width) - 1

    def __str__(self) -> str:
        text = f"{'i' if self.is_signed else 'u'}{self.width}"
        return text if (self.least, self.most) == self.limits else f"{text}<{self.least}:{self.most}>"


@dataclass(frozen=True, slots=True)
class UniformQuantization:
    """A stored `q` stands for `(q - zero point) * scale`; with an axis, each slice along it has its own two."""

    storage: Storage
    expressed: Attribute
    axis: int | None
    scales: tuple[tuple[float, int], ...]


@irdl_attr_definition
class UniformQuantizedType(Data[UniformQuantization], TypeAttribute):
    """`!quant.uniform<i8:f32, 2.0:15>`"""

    name = "quant.uniform"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> UniformQuantization:
        with parser.in_angle_brackets():
            storage = _parse_storage(parser)
            parser.parse_punctuation(":")
            start = parser.pos
            expressed = parser.parse_type()
            if not isinstance(expressed, AnyFloat):
                parser.raise_error(f"quantized elements stand for floats, not for {expressed}", start)
            axis = parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation(":") else None
            parser.parse_punctuation(",")
            if axis is None:
                scales = [_parse_scale(parser)]
            else:
                scales = parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_scale(parser))
        return UniformQuantization(storage, expressed, axis, tuple(scales))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.storage}:")
        printer.print_attribute(self.data.expressed)
        scales = ",".join(_scale_text(*each) for each in self.data.scales)
        axis = self.data.axis
        printer.print_string(f", {scales}>" if axis is None else f":{axis}, {{{scales}}}>")


def _parse_storage(parser: AttrParser) -> Storage:
    start = parser.pos
    word = parser.parse_identifier()
    kind, digits = word[:1], word[1:]
    if kind not in "iu" or not digits.isdecimal() or not 0 < int(digits) <= MAX_STORAGE_BITS:
        parser.raise_error(f"quantized elements are stored as i1 to i32 or u1 to u32, not as {word}", start)
    whole = Storage(kind == "i", int(digits), 0, 0)
    least, most = whole.limits
    if parser.parse_optional_punctuation("<"):
        start = parser.pos
        given = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        last = parser.parse_integer(allow_boolean=False)
        if not least <= given < last <= most:
            parser.raise_error(f"{given}:{last} is no range within {least}:{most}, what {word} can hold", start)
        least, most = given, last
        parser.parse_punctuation(">")
    return Storage(whole.is_signed, whole.width, least, most)


def _parse_scale(parser: AttrParser) -> tuple[float, int]:
    scale = float(parser.parse_number(allow_boolean=False))
    zero = parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation(":") else 0
    return scale, zero


def _scale_text(scale: float, zero: int) -> str:
    return f"{scale:.6e}" if zero == 0 else f"{scale:.6e}:{zero}"


QUANT = Dialect("quant", [], [UniformQuantizedType])
