"""The attributes of CHLO ops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.irdl import irdl_attr_definition

from sdy.dialects.stablehlo.attributes.attrs import Dims, Struct
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType, Precision, Word


@dataclass(frozen=True, slots=True)
class RaggedDotDimensionNumbers:
    """The dims of a `ragged_dot`: those of `dot_general`, the ragged one, and the dim of rhs that counts groups."""

    lhs_batching_dimensions: Dims = ()
    rhs_batching_dimensions: Dims = ()
    lhs_contracting_dimensions: Dims = ()
    rhs_contracting_dimensions: Dims = ()
    lhs_ragged_dimensions: Dims = ()
    rhs_group_dimensions: Dims = ()


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(Struct[RaggedDotDimensionNumbers]):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], ...>`."""

    name = "chlo.ragged_dot"
    VALUE = RaggedDotDimensionNumbers


@irdl_attr_definition
class ComparisonDirectionAttr(Word[ComparisonDirection]):
    """`#chlo<comparison_direction EQ>`."""

    name = "chlo.comparison_direction"
    WORDS = ComparisonDirection


@irdl_attr_definition
class ComparisonTypeAttr(Word[ComparisonType]):
    """`#chlo<comparison_type FLOAT>`."""

    name = "chlo.comparison_type"
    WORDS = ComparisonType


@irdl_attr_definition
class PrecisionAttr(Word[Precision]):
    """`#chlo<precision HIGHEST>`."""

    name = "chlo.precision"
    WORDS = Precision
