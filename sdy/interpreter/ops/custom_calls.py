"""Kernels of custom calls, by the name of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import enclosing_module
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count
from sdy.interpreter.ops import callbacks, check
from sdy.interpreter.ops.lapack import ROUTINES, lapack_call
from sdy.interpreter.ops.sorting import sorted_together

KERNELS = KernelTable()


def approximate_top_k(op: CustomCallOp) -> Kernel:
    """Return the first elements along a dim by a comparator, with their payloads. Exact results are allowed."""
    value = backend_config_of(op).get("reduction_dim")
    comparator = _comparator(op)
    if comparator is None or not isinstance(value, IntegerAttr):
        raise failure("SDY-X108", f"@{op.call_target_name.data} needs a reduction_dim and a comparator")
    dim, count = value.value.data, operand_count(op) // 2
    kept = shape_of(op.results[0])[dim]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        ordered = sorted_together(context, comparator, arrays[:count], dim, ())
        first = (slice(None),) * (context.rank + dim) + (slice(kept),)
        return tuple(array[first] for array in ordered)

    return kernel


def _comparator(op: CustomCallOp) -> Block | None:
    """Return the body of the comparator function that the call names."""
    module = enclosing_module(op)
    names = [name.root_reference.data for name in op.called_computations or ()]
    func = functions_of(module).get(names[0]) if module is not None and names else None
    return func.body.block if func is not None and func.body.blocks else None


TARGETS: Mapping[str, Callable[[CustomCallOp], Kernel]] = {
    **check.CUSTOM_CALLS,
    **callbacks.CUSTOM_CALLS,
    "ApproxTopK": approximate_top_k,
}


@KERNELS.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> Kernel:
    """Return the kernel of the target. Raises: SdyError SDY-X003 if it is unknown."""
    target = op.call_target_name.data
    known = TARGETS.get(target)
    kernel = lapack_call(op) if known is None else known(op)
    if kernel is None:
        names = ", ".join(f"@{name}" for name in TARGETS)
        hint = f"known targets: {names}, and @lapack_?..._ffi for s, d, c or z and {', '.join(ROUTINES)}"
        raise failure("SDY-X003", f"no kernel for the custom call @{target}", hint=hint)
    return kernel
