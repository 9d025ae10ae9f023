"""The attributes of CHLO ops."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.irdl import irdl_attr_definition

from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, StructAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType, EnumDataAttr, Precision


class RaggedDotDimensionNumbers(NamedTuple):
    """The dims of a `ragged_dot`: those of `dot_general`, the ragged dim of lhs, and the group dim of rhs."""

    lhs_batching_dimensions: DimNumbers = ()
    rhs_batching_dimensions: DimNumbers = ()
    lhs_contracting_dimensions: DimNumbers = ()
    rhs_contracting_dimensions: DimNumbers = ()
    lhs_ragged_dimensions: DimNumbers = ()
    rhs_group_dimensions: DimNumbers = ()


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(StructAttr[RaggedDotDimensionNumbers]):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], ...>`."""

    name = "chlo.ragged_dot"
    VALUE = RaggedDotDimensionNumbers


@irdl_attr_definition
class ComparisonDirectionAttr(EnumDataAttr[ComparisonDirection]):
    """`#chlo<comparison_direction EQ>`."""

    name = "chlo.comparison_direction"
    ENUM = ComparisonDirection


@irdl_attr_definition
class ComparisonTypeAttr(EnumDataAttr[ComparisonType]):
    """`#chlo<comparison_type FLOAT>`."""

    name = "chlo.comparison_type"
    ENUM = ComparisonType


@irdl_attr_definition
class PrecisionAttr(EnumDataAttr[Precision]):
    """`#chlo<precision HIGHEST>`."""

    name = "chlo.precision"
    ENUM = Precision
