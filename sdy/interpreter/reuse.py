"""Write sums, products and selections into the memory of a dead operand: arrays of all devices at once are large."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.elementwise import AddOp, MultiplyOp, SelectOp, SubtractOp
from sdy.interpreter.arrays.element_types import Array

# For floats of these dtypes the kernel of the op is a plain call of NumPy.
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def computed_in_place(
    ufunc: np.ufunc, slots: Sequence[Array | None], operands: Sequence[int], dead: Sequence[int]
) -> Array | None:
    """Compute into the memory of an operand whose slot is dead and holds the only reference; None if there is none."""
    lhs, rhs = operands
    if lhs == rhs:
        return None
    for target, other in ((lhs, rhs), (rhs, lhs)):
        is_unshared = target in dead and _references(slots, target) == _ONE_SLOT
        if is_unshared and _may_hold(slots[target], slots[other]):
            return ufunc(slots[lhs], slots[rhs], out=slots[target])
    return None


def selected_in_place(slots: Sequence[Array | None], operands: Sequence[int], dead: Sequence[int]) -> Array | None:
    """Select into the memory of a value whose slot is dead and holds the only reference; None if there is none."""
    pred, on_true, on_false = operands
    mask = slots[pred]
    if mask is None or on_true == on_false:
        return None
    for target, other, replaced in ((on_true, on_false, np.logical_not), (on_false, on_true, np.asarray)):
        is_unshared = target in dead and _references(slots, target) == _ONE_SLOT
        if is_unshared and _may_hold(slots[target], slots[other], mask):
            selected = _present(slots, target)
            np.copyto(selected, _present(slots, other), where=replaced(mask))
            return selected
    return None


InPlace = Callable[[Sequence[Array | None], Sequence[int], Sequence[int]], Array | None]
IN_PLACE: dict[type[Operation], InPlace] = {
    AddOp: partial(computed_in_place, np.add),
    MultiplyOp: partial(computed_in_place, np.multiply),
    SubtractOp: partial(computed_in_place, np.subtract),
    SelectOp: selected_in_place,
}
"""Functions of the slots of a block, the slots of the operands, and those of them that are dead."""


def _present(slots: Sequence[Array | None], slot: int) -> Array:
    array = slots[slot]
    assert array is not None
    return array


def _may_hold(array: Array | None, other: Array | None, mask: Array | None = None) -> bool:
    """Return whether the result has the shape and dtype of `array`, and may be written there.

    The mask of a selection has the rank of the values, or applies to all their elements.
    """
    if mask is not None and (array is None or mask.ndim != array.ndim):
        return False
    shapes = () if mask is None else (mask.shape,)
    if array is None or other is None or not array.flags.writeable:
        return False
    # A view may be written if it is the only view of its base.
    is_only = array.flags.owndata or (_is_owner(array.base) and _references_of_base(array) == _ONE_VIEW)
    has_dtype = array.dtype == other.dtype and array.dtype in DTYPES
    return is_only and has_dtype and np.broadcast_shapes(array.shape, other.shape, *shapes) == array.shape


def _is_owner(base: object) -> bool:
    return isinstance(base, np.ndarray) and bool(base.flags.owndata)


def _references(slots: Sequence[Array | None], slot: int) -> int:
    return sys.getrefcount(slots[slot])


def _references_of_base(array: Array) -> int:
    return sys.getrefcount(array.base)


# Reference counts of an array that only one slot, or one view, holds: they depend on the version of Python.
_ONE_SLOT = _references([np.empty(0)], 0)
_ONE_VIEW = _references_of_base(np.empty(1)[:])
