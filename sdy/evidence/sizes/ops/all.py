"""The ties of all ops: the tables of all families joined."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.control import MapOp
from sdy.dialects.stablehlo.linalg import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp
from sdy.evidence.sizes.ops import collectives, control, elementwise, reduction, shape, slicing, window
from sdy.evidence.sizes.ties import Ties, by_rule

TABLE = OpTable[None, [Ties]](
    elementwise.TABLE, reduction.TABLE, shape.TABLE, slicing.TABLE, window.TABLE, control.TABLE, collectives.TABLE
)
# Elementwise ops without an entry are tied so, too.
TABLE.of(MapOp, DotOp, DotGeneralOp, BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)(by_rule)
