"""The closed sets of words in StableHLO ops: `#stablehlo<comparison_direction EQ>` and the like."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeVar, cast

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

EnumT = TypeVar("EnumT", bound=Enum)


class EnumDataAttr(Data[EnumT], SpacedOpaqueSyntaxAttribute):
    """An attribute that is one member of the enum `ENUM`, whose values are the words as they are spelled."""

    ENUM: ClassVar[type[Enum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EnumT:
        spelled = parser.parse_keyword_in([member.value for member in cls.ENUM])
        return cast(EnumT, cls.ENUM(spelled))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.value)


class ComparisonDirection(Enum):
    """How `compare` relates lhs to rhs."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(Enum):
    """Which order `compare` uses; `TOTALORDER` tells -0 from +0 and sorts NaN."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class Precision(Enum):
    """How exact a contraction must be."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


class FftType(Enum):
    """Forward or inverse, complex or real."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class Transpose(Enum):
    """What `triangular_solve` does to its matrix first."""

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
    """Which accuracy a transcendental function promises."""

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
