"""The attributes of CHLO ops."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.irdl import irdl_attr_definition

from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, StructAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType, Precision, enum_attribute


class RaggedDotDimensionNumbers(NamedTuple):
    """The dims of a `ragged_dot`: those of `dot_general`, the ragged dim of lhs, and the group dim of rhs."""

    lhs_batching_dimensions: DimNumbers = ()
    rhs_batching_dimensions: DimNumbers = ()
    lhs_contracting_dimensions: DimNumbers = ()
    rhs_contracting_dimensions: DimNumbers = ()
    lhs_ragged_dimensions: DimNumbers = ()
    rhs_group_dimensions: DimNumbers = ()

    def rhs_dims(self) -> dict[int, int]:
        """Return the dim of rhs for each batch and contracting dim of lhs."""
        lhs = (*self.lhs_batching_dimensions, *self.lhs_contracting_dimensions)
        return dict(zip(lhs, (*self.rhs_batching_dimensions, *self.rhs_contracting_dimensions), strict=True))

    def dims_with_own_sizes(self, rank: int) -> DimNumbers:
        """Return the dims of lhs that may have their own group sizes: batch dims, and those before the ragged dim.

        `rank` is that of lhs. The ragged dim is free or contracting; so are the dims before it.
        """
        (ragged,) = self.lhs_ragged_dimensions
        paired = self.rhs_dims()
        free = tuple(dim for dim in range(rank) if dim not in paired)
        kind = next(each for each in (self.lhs_contracting_dimensions, free, (ragged,)) if ragged in each)
        return (*self.lhs_batching_dimensions, *kind[: kind.index(ragged)])


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(StructAttr[RaggedDotDimensionNumbers]):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], ...>`."""

    name = "chlo.ragged_dot"
    VALUE = RaggedDotDimensionNumbers


ComparisonDirectionAttr = enum_attribute(__name__, ComparisonDirection, "#chlo<comparison_direction EQ>")
ComparisonTypeAttr = enum_attribute(__name__, ComparisonType, "#chlo<comparison_type FLOAT>")
PrecisionAttr = enum_attribute(__name__, Precision, "#chlo<precision HIGHEST>")
