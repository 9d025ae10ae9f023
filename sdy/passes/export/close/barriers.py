"""Propagation barriers behind propagation: a barrier's result is its operand, cut as that is.

Explicit reshards go by the operand's sharding, whatever the result's says. Source: docs/spec/05, 0.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.ops import PropagationBarrierOp
from sdy.passes.rewriting.insertion import erase


def erase_barriers(module: ModuleOp) -> None:
    """Let the users of barriers take what stands before them."""
    for barrier in ops_of(module, PropagationBarrierOp):
        replace_uses(barrier.result, barrier.input)
        erase(barrier)
