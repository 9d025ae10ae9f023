"""Side effects of ops: whether an op can be erased if its results are unused."""

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

_WRITE_EFFECT: AbstractSet[EffectInstance] = frozenset((EffectInstance(MemoryEffectKind.WRITE),))
_NO_EFFECT: AbstractSet[EffectInstance] = frozenset()


class SideEffectByProperty(MemoryEffect):
    """A trait of ops that have a side effect if their property `has_side_effect` is true."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        flag = op.properties.get("has_side_effect")
        return _WRITE_EFFECT if isinstance(flag, IntegerAttr) and flag.value.data else _NO_EFFECT


def is_trivially_dead(op: Operation) -> bool:
    """Return whether the op can be erased: no result is used, and neither it nor an op inside has a side effect.

    Terminators and symbols are never dead. Source: docs/spec/02, 1.6.
    """
    if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
        return False
    return all(result.first_use is None for result in op.results) and is_side_effect_free(op)
