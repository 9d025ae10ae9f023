"""The CHLO dialect: all ops and attributes."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.chlo import attrs, broadcast, elementwise, structured

CHLO = Dialect(
    "chlo",
    [*elementwise.OPS, *broadcast.OPS, *structured.OPS],
    [
        attrs.ComparisonDirectionAttr,
        attrs.ComparisonTypeAttr,
        attrs.PrecisionAttr,
        attrs.RaggedDotDimensionNumbersAttr,
    ],
)
