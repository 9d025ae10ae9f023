"""The quantized element types of MLIR's `quant` dialect, which StableHLO tensors may have.

!quant.uniform<i8:f32, 2.000000e-01:15>                          one scale, and a zero point unless it is 0
!quant.uniform<u8<1:255>:f32:1, {1.000000e-01,2.000000e-01:3}>   one scale per slice along axis 1; a narrower range
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Data, Dialect, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

MAX_STORAGE_BITS = 32


class Storage(NamedTuple):
    """The integer type in which values are stored, such as `i8` or `u4`, and the range of it that is used."""

    is_signed: bool
    width: int
    minimum: int
    maximum: int

    @property
    def limits(self) -> tuple[int, int]:
        """The full range of the integer type."""
        if self.is_signed:
            return -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        return 0, (1 << self.width) - 1

    def __str__(self) -> str:
        text = f"{'i' if self.is_signed else 'u'}{self.width}"
        return text if (self.minimum, self.maximum) == self.limits else f"{text}<{self.minimum}:{self.maximum}>"


class UniformQuantization(NamedTuple):
    """Parameters of a quantization: a stored `q` represents `(q - zero_point) * scale`.

    With an axis, each slice along it has its own scale and zero point. `scales` holds pairs of scale and zero point.
    """

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
                parser.raise_error(f"expected a float type as expressed type, got {expressed}", start)
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
    name = parser.parse_identifier()
    kind, digits = name[:1], name[1:]
    if kind not in "iu" or not digits.isdecimal() or not 0 < int(digits) <= MAX_STORAGE_BITS:
        parser.raise_error(f"expected a storage type from i1 to i32 or from u1 to u32, got {name}", start)
    full = Storage(kind == "i", int(digits), 0, 0)
    minimum, maximum = full.limits
    if parser.parse_optional_punctuation("<"):
        start = parser.pos
        first = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        last = parser.parse_integer(allow_boolean=False)
        if not minimum <= first < last <= maximum:
            message = f"expected a range within {minimum}:{maximum}, the range of {name}, got {first}:{last}"
            parser.raise_error(message, start)
        minimum, maximum = first, last
        parser.parse_punctuation(">")
    return Storage(full.is_signed, full.width, minimum, maximum)


def _parse_scale(parser: AttrParser) -> tuple[float, int]:
    scale = float(parser.parse_number(allow_boolean=False))
    zero = parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation(":") else 0
    return scale, zero


def _scale_text(scale: float, zero: int) -> str:
    return f"{scale:.6e}" if zero == 0 else f"{scale:.6e}:{zero}"


QUANT = Dialect("quant", [], [UniformQuantizedType])
