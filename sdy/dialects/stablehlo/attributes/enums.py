"""The enum attributes of StableHLO: `#stablehlo<comparison_direction EQ>` and the like."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeVar, cast

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

EnumT = TypeVar("EnumT", bound=Enum)


class EnumDataAttr(Data[EnumT], SpacedOpaqueSyntaxAttribute):
    """An attribute that holds a member of `ENUM`; the values of the enum are the keywords of the syntax."""

    ENUM: ClassVar[type[Enum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EnumT:
        keyword = parser.parse_keyword_in([member.value for member in cls.ENUM])
        return cast(EnumT, cls.ENUM(keyword))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.value)


def enum_attribute(module: str, enum: type[EnumT], example: str) -> type[EnumDataAttr[EnumT]]:
    """Return the class, declared in a module, of the attribute of an enum, whose text is like `example`."""
    name = example[1:].partition(" ")[0].replace("<", ".")
    body = {"__module__": module, "__doc__": f"`{example}`.", "name": name, "ENUM": enum}
    declared = type(f"{enum.__name__}Attr", (EnumDataAttr,), body)
    return irdl_attr_definition(cast("type[EnumDataAttr[EnumT]]", declared))


class ComparisonDirection(Enum):
    """The relation that `compare` tests between lhs and rhs."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(Enum):
    """The order that `compare` uses; `TOTALORDER` distinguishes -0 from +0 and orders NaN."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class Precision(Enum):
    """The precision of a contraction."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


class FftType(Enum):
    """The kind of a Fourier transform: forward or inverse, complex or real."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class Transpose(Enum):
    """The transposition that `triangular_solve` applies to its matrix."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class RngDistribution(Enum):
    """The distribution of `rng`."""

    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


class RngAlgorithm(Enum):
    """The generator of `rng_bit_generator`."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


class ResultAccuracyMode(Enum):
    """The accuracy mode of a transcendental function."""

    DEFAULT = "DEFAULT"
    HIGHEST = "HIGHEST"
    TOLERANCE = "TOLERANCE"


ComparisonDirectionAttr = enum_attribute(__name__, ComparisonDirection, "#stablehlo<comparison_direction EQ>")
ComparisonTypeAttr = enum_attribute(__name__, ComparisonType, "#stablehlo<comparison_type FLOAT>")
PrecisionAttr = enum_attribute(__name__, Precision, "#stablehlo<precision HIGHEST>")
FftTypeAttr = enum_attribute(__name__, FftType, "#stablehlo<fft_type RFFT>")
TransposeAttr = enum_attribute(__name__, Transpose, "#stablehlo<transpose ADJOINT>")
RngDistributionAttr = enum_attribute(__name__, RngDistribution, "#stablehlo<rng_distribution UNIFORM>")
RngAlgorithmAttr = enum_attribute(__name__, RngAlgorithm, "#stablehlo<rng_algorithm THREE_FRY>")
