"""Properties of an op besides its sharding rule: elementwise, op-priority class, erasable.

Source: docs/spec/02, 1.6, 5.2 and 5.3.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface, is_side_effect_free

from sdy.dialects.facts.traits import Elementwise, has_fact
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.shape import BitcastConvertOp, BroadcastInDimOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp
from sdy.propagation.graph import PassThrough

# Ops of `sdy` that are like elementwise ops to Shardy; it stops at the others that pass their operand on.
ALSO_ELEMENTWISE = (PropagationBarrierOp, ReshardOp, ShardingConstraintOp)
# The op priorities of Shardy for other ops.
PASS_THROUGH: dict[type[Operation], PassThrough] = {
    ReshapeOp: PassThrough.BOTH,
    TransposeOp: PassThrough.BOTH,
    DynamicSliceOp: PassThrough.FORWARD,
    DynamicUpdateSliceOp: PassThrough.FORWARD,
    BroadcastInDimOp: PassThrough.BROADCAST,
}
MEMORY_MOVES = ("MoveToDevice", "MoveToHost")  # custom calls that return their operand


def is_elementwise(op: Operation) -> bool:
    """Return whether an op is elementwise to Shardy, which has no functions of CHLO: they are several ops."""
    if type(op) is BitcastConvertOp:
        return static_shape(op.operand.type) == static_shape(op.result.type)
    return _class_pass_through(type(op))[0]


def pass_through(op: Operation) -> PassThrough:
    """Return the op-priority class of the op."""
    if type(op) is BitcastConvertOp:
        return PassThrough.BOTH if is_elementwise(op) else PassThrough.NO
    if type(op) is CustomCallOp:
        return PassThrough.BOTH if op.call_target_name.data in MEMORY_MOVES else PassThrough.NO
    return _class_pass_through(type(op))[1]


@cache
def _class_pass_through(op_class: type[Operation]) -> tuple[bool, PassThrough]:
    """Return whether ops of a class are elementwise to Shardy, and their op-priority class."""
    if not (has_fact(op_class, Elementwise) or op_class in ALSO_ELEMENTWISE):
        return False, PASS_THROUGH.get(op_class, PassThrough.NO)
    is_several = op_class.name.startswith("chlo.")
    return not is_several, PassThrough.BOTH_AS_SEVERAL_OPS if is_several else PassThrough.BOTH


def is_erasable(op: Operation) -> bool:
    """Return whether the op may be erased if its results have no uses."""
    known = _erasable.get(type(op))
    if known is None:
        known = _erasable[type(op)] = _erasability(op)
    return is_side_effect_free(op) if known is _Erasability.DEPENDS else known is _Erasability.ALWAYS


class _Erasability(Enum):
    """The condition under which ops of a class may be erased."""

    ALWAYS = auto()
    NEVER = auto()
    DEPENDS = auto()  # on the ops in its regions, or on its attributes


_erasable: dict[type[Operation], _Erasability] = {}


def _erasability(op: Operation) -> _Erasability:
    if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
        return _Erasability.NEVER
    effects = op.get_traits_of_type(MemoryEffect)
    if not effects:
        return _Erasability.NEVER
    is_pure = all(isinstance(effect, NoMemoryEffect) for effect in effects)
    return _Erasability.ALWAYS if is_pure else _Erasability.DEPENDS
