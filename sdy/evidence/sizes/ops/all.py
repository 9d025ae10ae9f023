"""The ties of all ops: the tables of all families joined."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.evidence.sizes.ops import (
    by_rule,
    calls,
    collectives,
    control,
    elementwise,
    gather_scatter,
    linalg,
    reduction,
    shape,
    slicing,
    window,
)
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]](
    by_rule.TABLE,
    elementwise.TABLE,
    reduction.TABLE,
    shape.TABLE,
    slicing.TABLE,
    gather_scatter.TABLE,
    window.TABLE,
    linalg.TABLE,
    control.TABLE,
    calls.TABLE,
    collectives.TABLE,
)
