"""Op traits that users' dialects can declare.

class ScaleOp(IRDLOperation):
    name = "mine.scale"
    traits = traits_def(Pure(), Elementwise())
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation, Region
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


def terminator_of(region: Region) -> Operation:
    """Return the op that ends the only block of a region. The module was verified: there is one."""
    last = region.block.last_op
    assert last is not None
    return last


@cache
def _has_trait(op_class: type[Operation], trait: type[OpTrait]) -> bool:
    return op_class.has_trait(trait, value_if_unregistered=False)
