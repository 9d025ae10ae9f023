"""The StableHLO dialect: all ops, attributes and types."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.stablehlo import (
    calls,
    collectives,
    contraction,
    control,
    elementwise,
    gather_scatter,
    linalg,
    random,
    reduction,
    shape,
    slicing,
    tokens,
    window,
)
from sdy.dialects.stablehlo.attributes import attrs, enums, replica_groups, types
from sdy.dialects.stablehlo.syntax import conv_numbers, dot_clauses

FAMILIES = (
    elementwise,
    contraction,
    reduction,
    shape,
    slicing,
    gather_scatter,
    window,
    control,
    calls,
    tokens,
    collectives,
    linalg,
    random,
)

STABLEHLO = Dialect(
    "stablehlo",
    [op for family in FAMILIES for op in family.OPS],
    [
        types.TokenType,
        types.FutureType,
        types.BoundsAttr,
        enums.ComparisonDirectionAttr,
        enums.ComparisonTypeAttr,
        enums.PrecisionAttr,
        enums.FftTypeAttr,
        enums.TransposeAttr,
        enums.RngDistributionAttr,
        enums.RngAlgorithmAttr,
        attrs.DotDimensionNumbersAttr,
        attrs.GatherDimensionNumbersAttr,
        attrs.ScatterDimensionNumbersAttr,
        attrs.ChannelHandleAttr,
        attrs.ResultAccuracyModeAttr,
        attrs.ResultAccuracyAttr,
        attrs.OutputOperandAliasAttr,
        conv_numbers.ConvDimensionNumbersAttr,
        dot_clauses.DotAlgorithmAttr,
        replica_groups.HloMeshAxisAttr,
        replica_groups.HloAxisRefAttr,
        replica_groups.HloMeshAttr,
        replica_groups.ReplicaGroupMeshAxesAttr,
    ],
)
