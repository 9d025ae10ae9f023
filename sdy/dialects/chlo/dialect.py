"""All ops and attributes of CHLO, as one xDSL dialect."""

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
