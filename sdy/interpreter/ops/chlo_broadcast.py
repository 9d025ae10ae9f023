"""Kernels of the CHLO ops that first broadcast their operands to a common shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import broadcast as ops
from sdy.dialects.chlo import elementwise as chlo_ops
from sdy.dialects.chlo.broadcast import plain_op
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type, is_bool, is_integer
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, pointwise
from sdy.interpreter.ops import chlo, elementwise
from sdy.interpreter.ops.arithmetic import Compute
from sdy.interpreter.ops.elementwise import comparison, complex_of

KERNELS = KernelTable()

# The functions of the ops without broadcasting.
FUNCTIONS: dict[type[Operation], Compute] = {
    **{each: elementwise.FUNCTIONS[plain] for each in ops.OPS if (plain := plain_op(each)) in elementwise.FUNCTIONS},
    ops.BroadcastNextAfterOp: chlo.FUNCTIONS[chlo_ops.NextAfterOp],
    ops.BroadcastPolygammaOp: chlo.FUNCTIONS[chlo_ops.PolygammaOp],
    ops.BroadcastSelectOp: np.where,
    ops.BroadcastZetaOp: chlo.FUNCTIONS[chlo_ops.ZetaOp],
}
# The element types for which a function is defined. CHLO allows other ones, which the op without broadcasting does not.
DEFINED_FOR: dict[type[Operation], Callable[[DType], bool]] = {
    **dict.fromkeys(
        (ops.BroadcastAndOp, ops.BroadcastOrOp, ops.BroadcastXorOp), lambda dtype: is_integer(dtype) or is_bool(dtype)
    ),
    **dict.fromkeys(
        (ops.BroadcastShiftLeftOp, ops.BroadcastShiftRightArithmeticOp, ops.BroadcastShiftRightLogicalOp), is_integer
    ),
    ops.BroadcastSubtractOp: lambda dtype: not is_bool(dtype),
}


@KERNELS.of(*FUNCTIONS)
def function_of_broadcast_elements(op: Operation) -> Kernel:
    """Broadcast the operands and apply the function of the op.

    Raises: SdyError SDY-X018 if it is not defined for their element type.
    """
    is_defined = DEFINED_FOR.get(type(op))
    if is_defined is not None and not is_defined(dtype_of_type(op.operands[0].type)):
        raise failure("SDY-X018", f"{op.name} is not defined for {op.operands[0].type}")
    return broadcast_first(op, pointwise(FUNCTIONS[type(op)]))


@KERNELS.of(ops.BroadcastCompareOp)
def broadcast_compare(op: ops.BroadcastCompareOp) -> Kernel:
    """Broadcast the operands and compare them."""
    compare_type = None if op.compare_type is None else op.compare_type.data
    return broadcast_first(op, pointwise(comparison(op.comparison_direction.data, compare_type)))


@KERNELS.of(ops.BroadcastComplexOp)
def broadcast_complex(op: ops.BroadcastComplexOp) -> Kernel:
    """Broadcast the operands and combine them to complex numbers."""
    return broadcast_first(op, pointwise(complex_of(dtype_of_type(op.result.type))))


def broadcast_first(op: Operation, plain: Kernel) -> Kernel:
    """Return the kernel that broadcasts the operands of an op to a common shape, and calls the one without it."""
    written = op.properties.get("broadcast_dimensions")
    dims = None if written is None else ints_of(written)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        rank = max(len(context.local(array)) for array in arrays)
        operands_of_rank = [_with_rank(context, array, dims, rank) for array in arrays]
        sizes = np.broadcast_shapes(*(context.local(array) for array in operands_of_rank))
        full = [np.broadcast_to(array, context.leading(array) + sizes) for array in operands_of_rank]
        return plain(context, tuple(full))

    return kernel


def _with_rank(context: KernelContext, array: Array, dims: tuple[int, ...] | None, rank: int) -> Array:
    """Return the array with `rank` dims: its own at `dims`, by default the last ones, and new dims of size 1."""
    local = context.local(array)
    if len(local) == rank:
        return array
    places = tuple(range(rank - len(local), rank)) if dims is None else dims
    size_along = dict(zip(places, local, strict=True))
    return array.reshape(context.leading(array) + tuple(size_along.get(dim, 1) for dim in range(rank)))
