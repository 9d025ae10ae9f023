"""Arithmetic into the memory of an operand that nothing reads any more: on all devices at once, arrays are large."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.elementwise import AddOp, MultiplyOp, SubtractOp
from sdy.interpreter.arrays.element_types import Array

# Of floats of these widths their kernels are a mere call of NumPy's function.
UFUNCS: dict[type[Operation], np.ufunc] = {AddOp: np.add, MultiplyOp: np.multiply, SubtractOp: np.subtract}
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def reused(
    ufunc: np.ufunc, slots: Sequence[Array | None], operands: Sequence[int], dead: Sequence[int]
) -> Array | None:
    """The result, in the memory of an operand in a dead slot that nobody else can see; None where there is none."""
    lhs, rhs = operands
    if lhs == rhs:
        return None
    for mine, other in ((lhs, rhs), (rhs, lhs)):
        is_unseen = mine in dead and _references(slots, mine) == _OF_ONE_SLOT
        if is_unseen and _may_hold(slots[mine], slots[other]):
            return ufunc(slots[lhs], slots[rhs], out=slots[mine])
    return None


def _may_hold(array: Array | None, other: Array | None) -> bool:
    """Whether a result of both has the shape and the dtype of `array`, and may be written there."""
    if array is None or other is None or not array.flags.writeable:
        return False
    # A view counts where it is the only one.
    is_alone = array.flags.owndata or (_is_owner(array.base) and _references_of_base(array) == _OF_ONE_VIEW)
    has_dtype = array.dtype == other.dtype and array.dtype in DTYPES
    return is_alone and has_dtype and np.broadcast_shapes(array.shape, other.shape) == array.shape


def _is_owner(base: object) -> bool:
    return isinstance(base, np.ndarray) and bool(base.flags.owndata)


def _references(slots: Sequence[Array | None], slot: int) -> int:
    return sys.getrefcount(slots[slot])


def _references_of_base(array: Array) -> int:
    return sys.getrefcount(array.base)


# How many references there are is for each version of Python to say; these are of what is in one place only.
_OF_ONE_SLOT = _references([np.empty(0)], 0)
_OF_ONE_VIEW = _references_of_base(np.empty(1)[:])
