"""The kernels of all ops: the tables of all families joined."""

from __future__ import annotations

from sdy.interpreter.kernel import KernelTable
from sdy.interpreter.ops import (
    annotations,
    check,
    chlo,
    collectives,
    contraction,
    control,
    custom_calls,
    elementwise,
    gather_scatter,
    interpreter,
    linalg,
    random,
    reduction,
    shape,
    slicing,
    transfers,
    window,
)

KERNELS = KernelTable(
    annotations.KERNELS,
    elementwise.KERNELS,
    contraction.KERNELS,
    reduction.KERNELS,
    shape.KERNELS,
    slicing.KERNELS,
    gather_scatter.KERNELS,
    window.KERNELS,
    linalg.KERNELS,
    random.KERNELS,
    chlo.KERNELS,
    control.KERNELS,
    collectives.KERNELS,
    transfers.KERNELS,
    check.KERNELS,
    custom_calls.KERNELS,
    interpreter.KERNELS,
)
