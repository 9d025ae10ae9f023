"""Ties by the sharding rule, of ops whose dims correspond as it says, such as elementwise ops without an entry."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.control import MapOp
from sdy.dialects.stablehlo.linalg import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp
from sdy.evidence.sizes.ties import Ties
from sdy.rules.partitioner_rules import own_rule

TABLE = OpTable[None, [Ties]]()


def by_rule(op: Operation, ties: Ties) -> None:
    """Tie the dims that share a factor of the sharding rule. Elementwise ops are not in the table: all are tied so."""
    rule = own_rule(op)
    assert rule is not None
    ties.same_factors(op, rule)


TABLE.of(MapOp, DotOp, DotGeneralOp, BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)(by_rule)
