"""What an op of anybody's dialect can say of itself.

class ScaleOp(IRDLOperation):
    name = "mine.scale"
    traits = traits_def(Pure(), Elementwise())
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import OpTrait


class Elementwise(OpTrait):
    """Each element of the results comes from the elements at its place: all tensors have one shape, and one sharding.

    The op needs no sharding rule of its own, and propagates before others, as StableHLO's element-wise ops do.
    """


def is_elementwise_by_trait(op: Operation) -> bool:
    """Whether the class of `op` has the trait."""
    return _has_trait(type(op))


@cache
def _has_trait(op_class: type[Operation]) -> bool:
    return op_class.has_trait(Elementwise, value_if_unregistered=False)
