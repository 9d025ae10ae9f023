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


@irdl_attr_definition
class ComparisonDirectionAttr(EnumDataAttr[ComparisonDirection]):
    """`#stablehlo<comparison_direction EQ>`."""

    name = "stablehlo.comparison_direction"
    ENUM = ComparisonDirection


@irdl_attr_definition
class ComparisonTypeAttr(EnumDataAttr[ComparisonType]):
    """`#stablehlo<comparison_type FLOAT>`."""

    name = "stablehlo.comparison_type"
    ENUM = ComparisonType


@irdl_attr_definition
class PrecisionAttr(EnumDataAttr[Precision]):
    """`#stablehlo<precision HIGHEST>`."""

    name = "stablehlo.precision"
    ENUM = Precision


@irdl_attr_definition
class FftTypeAttr(EnumDataAttr[FftType]):
    """`#stablehlo<fft_type RFFT>`."""

    name = "stablehlo.fft_type"
    ENUM = FftType


@irdl_attr_definition
class TransposeAttr(EnumDataAttr[Transpose]):
    """`#stablehlo<transpose ADJOINT>`."""

    name = "stablehlo.transpose"
    ENUM = Transpose


@irdl_attr_definition
class RngDistributionAttr(EnumDataAttr[RngDistribution]):
    """`#stablehlo<rng_distribution UNIFORM>`."""

    name = "stablehlo.rng_distribution"
    ENUM = RngDistribution


@irdl_attr_definition
class RngAlgorithmAttr(EnumDataAttr[RngAlgorithm]):
    """`#stablehlo<rng_algorithm THREE_FRY>`."""

    name = "stablehlo.rng_algorithm"
    ENUM = RngAlgorithm
