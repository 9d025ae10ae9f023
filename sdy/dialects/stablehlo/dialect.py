"""The StableHLO dialect: all ops, attributes and types."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.stablehlo.attributes import attrs, enums, replica_groups, types
from sdy.dialects.stablehlo.families import DIALECT, all_ops
from sdy.dialects.stablehlo.syntax import dot_clauses

STABLEHLO = Dialect(
    DIALECT,
    all_ops(),
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
        dot_clauses.ConvDimensionNumbersAttr,
        dot_clauses.DotAlgorithmAttr,
        replica_groups.HloMeshAxisAttr,
        replica_groups.HloAxisRefAttr,
        replica_groups.HloMeshAttr,
        replica_groups.ReplicaGroupMeshAxesAttr,
    ],
)
