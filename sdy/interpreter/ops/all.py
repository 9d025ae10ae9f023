"""The kernels of all ops: the tables of the families as one."""

from __future__ import annotations

from sdy.interpreter.kernel import KernelTable
from sdy.interpreter.ops import contraction, control, elementwise, reduction, shape, slicing

KERNELS = KernelTable(
    elementwise.KERNELS,
    contraction.KERNELS,
    reduction.KERNELS,
    shape.KERNELS,
    slicing.KERNELS,
    control.KERNELS,
)
