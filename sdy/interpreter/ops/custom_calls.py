"""The kernels of custom calls, by the name of their target."""

from __future__ import annotations

from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Kernel, KernelTable
from sdy.interpreter.ops import check, lapack

KERNELS = KernelTable()


@KERNELS.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> Kernel:
    """What is known under the name of the target. Raises: SdyError SDY-X003 where nothing is."""
    target = op.call_target_name.data
    make = check.CUSTOM_CALLS.get(target) or lapack.CUSTOM_CALLS.get(target)
    if make is None:
        targets = ", ".join(f"@{name}" for name in check.CUSTOM_CALLS)
        routines = ", ".join(lapack.ROUTINES)
        hint = f"known targets: {targets}; @lapack_?..._ffi for s, d, c or z and {routines}"
        raise failure("SDY-X003", f"no kernel computes the custom call @{target}", hint=hint)
    return make(op)
