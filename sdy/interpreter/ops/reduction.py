"""Kernels of `reduce` and `map`."""

from __future__ import annotations

import numpy as np

from sdy.dialects.stablehlo import control, reduction
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, with_unit_dims
from sdy.interpreter.ops.reducer import Reducer

KERNELS = KernelTable()


@KERNELS.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp) -> Kernel:
    """Reduce the inputs along some dims by the body."""
    reducer, dims = Reducer(op.body.block), ints_of(op.dimensions)
    count = reducer.count

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return reducer.fold(context, arrays[:count], arrays[count : 2 * count], dims, arrays[2 * count :])

    return kernel


@KERNELS.of(control.MapOp)
def apply_to_elements(op: control.MapOp) -> Kernel:
    """Apply the computation elementwise to all inputs."""
    block, count = op.computation.block, len(op.inputs)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        sizes = context.local(arrays[0])
        inner = context.with_elements(sizes)
        captured = tuple(with_unit_dims(context, value, len(sizes)) for value in arrays[count:])
        (result,) = context.runner.run_block(inner, block, arrays[:count], captured)
        return (np.broadcast_to(result, context.leading(result) + sizes),)

    return kernel
