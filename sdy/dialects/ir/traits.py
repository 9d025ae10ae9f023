"""What an op of anybody's dialect can say of itself.

class ScaleOp(IRDLOperation):
    name = "mine.scale"
    traits = traits_def(Pure(), Elementwise())
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, OpTrait


class Elementwise(OpTrait):
    """Each element of the results comes from the elements at its place: all tensors have one shape, and one sharding.

    The op needs no sharding rule of its own, and propagates before others, as StableHLO's element-wise ops do.
    """


def is_elementwise_by_trait(op: Operation) -> bool:
    """Whether the class of `op` has the trait."""
    return _has_trait(type(op), Elementwise)


def is_terminator(op: Operation) -> bool:
    """Whether the class of `op` ends blocks. Asked often: xDSL would go through all traits each time."""
    return _has_trait(type(op), IsTerminator)


@cache
def _has_trait(op_class: type[Operation], trait: type[OpTrait]) -> bool:
    return op_class.has_trait(trait, value_if_unregistered=False)
