"""Propagation barriers behind propagation: a barrier's result is its operand, cut as that is.

Explicit reshards go by the operand's sharding, whatever the result's says. Source: spec of reshards, section 0.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.sdy.ops import PropagationBarrierOp
from sdy.dialects.unchecked import replace_uses
from sdy.dialects.walk import ops_of
from sdy.passes.insertion import erase


def erase_barriers(module: ModuleOp) -> None:
    """Let the users of barriers take what stands before them."""
    for barrier in ops_of(module, PropagationBarrierOp):
        replace_uses(barrier.result, barrier.input)
        erase(barrier)
