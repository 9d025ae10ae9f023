"""Whether an op does anything beyond giving its results, and so whether it may go when nobody uses them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    SymbolOpInterface,
    is_side_effect_free,
)

_SOME_EFFECT: AbstractSet[EffectInstance] = frozenset((EffectInstance(MemoryEffectKind.WRITE),))
_NO_EFFECT: AbstractSet[EffectInstance] = frozenset()


class SideEffectByProperty(MemoryEffect):
    """An op that has a side effect where its property `has_side_effect` is true."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        flag = op.properties.get("has_side_effect")
        return _SOME_EFFECT if isinstance(flag, IntegerAttr) and flag.value.data else _NO_EFFECT


def is_trivially_dead(op: Operation) -> bool:
    """Whether the op can be erased: no result is used, and neither it nor an op in it has a side effect.

    Terminators and symbols are never dead. Source: docs/spec/02, 1.6.
    """
    if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
        return False
    return all(result.first_use is None for result in op.results) and is_side_effect_free(op)
