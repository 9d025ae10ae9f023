"""Erase propagation barriers after propagation: the result of a barrier is its operand.

Explicit reshards use the sharding of the operand, even if the result has another one. Source: docs/spec/05, 0.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.ops import PropagationBarrierOp
from sdy.passes.rewriting.insertion import replace_by


def erase_barriers(module: ModuleOp) -> None:
    """Replace the results of barriers by their operands."""
    for barrier in ops_of(module, PropagationBarrierOp):
        replace_by(barrier, barrier.input)
