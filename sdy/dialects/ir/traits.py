"""Op traits that users' dialects can declare.

class ScaleOp(IRDLOperation):
    name = "mine.scale"
    traits = traits_def(Pure(), Elementwise())
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, OpTrait


class Elementwise(OpTrait):
    """A trait of ops that compute each result element from the operand elements at the same index.

    All tensors have the same shape and sharding. The op needs no sharding rule, and is propagated through
    before
    other ops, like StableHLO's elementwise ops.
    """


def is_elementwise_by_trait(op: Operation) -> bool:
    """Return whether the op's class has the trait `Elementwise`."""
    return _has_trait(type(op), Elementwise)


def is_terminator(op: Operation) -> bool:
    """Return whether the op's class is a terminator. Cached, because xDSL searches all traits at each call."""
    return _has_trait(type(op), IsTerminator)


@cache
def _has_trait(op_class: type[Operation], trait: type[OpTrait]) -> bool:
    return op_class.has_trait(trait, value_if_unregistered=False)
