"""Kernels of custom calls, by the name of the target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block

from sdy.dialects.ir.op_location import user_code_error_at
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import enclosing_module
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.call_targets import CUSTOM_HINT, CUSTOM_PARTITIONING, RAGGED_ALL_TO_ALL
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of
from sdy.interpreter.arrays.element_types import Array, dtype_of_type
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count
from sdy.interpreter.ops import callbacks, check
from sdy.interpreter.ops.lapack import ROUTINES, lapack_call
from sdy.interpreter.ops.ragged_all_to_all import ragged_all_to_all
from sdy.interpreter.ops.sorting import sorted_together
from sdy.interpreter.user_kernels import kind_text, returned_arrays

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


TARGETS: dict[str, Callable[[CustomCallOp], Kernel]] = {
    **check.CUSTOM_CALLS,
    **callbacks.CUSTOM_CALLS,
    "ApproxTopK": approximate_top_k,
    RAGGED_ALL_TO_ALL: ragged_all_to_all,
}


def add_target(target: str, function: Callable[..., object]) -> None:
    """Let a function of the arrays of one device compute the custom calls of a target; it returns one array per result.

    Raises: ValueError if the target has a kernel already.
    """
    if target in TARGETS:
        raise ValueError(f"the custom call @{target} has a kernel already")
    TARGETS[target] = lambda op: _kernel_of(function, op)


def _kernel_of(function: Callable[..., object], op: CustomCallOp) -> Kernel:
    """Return the kernel that calls the function once for each distinct set of operands."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        leading = np.broadcast_shapes(*(context.leading(array) for array in arrays), (1,) * context.rank)
        spread = [np.broadcast_to(array, leading + context.local(array)) for array in arrays]
        runs = [_results(function, op, tuple(array[place] for array in spread)) for place in np.ndindex(leading)]
        columns = zip(*runs, strict=True)
        return tuple(np.stack(column).reshape(leading + column[0].shape) for column in columns)

    return kernel


def _results(function: Callable[..., object], op: CustomCallOp, arrays: Arrays) -> list[Array]:
    """Call the function of a user. Raises: SdyError if it raises, or if it returns other arrays than the call has."""
    target = op.call_target_name.data
    try:
        returned = function(*arrays)
    except Exception as error:  # the code of the user may raise anything
        hint = "it is called with the arrays of one device, whose shapes are those of a shard"
        action = f"the kernel of @{target}"
        raise user_code_error_at(op, "SDY-X111", action, error, hint) from error
    found = list(returned_arrays(returned))
    types = [(each.dtype, each.shape) for each in found]
    expected = [(dtype_of_type(result.type), shape_of(result)) for result in op.results]
    if types != expected:
        texts = [", ".join(kind_text(*kind) for kind in kinds) for kinds in (expected, types)]
        hint = "return one array per result, of the type that the program gives it"
        raise failure("SDY-X112", f"the kernel of @{target} must return {texts[0]}, it returned {texts[1]}", hint)
    return found


@KERNELS.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> Kernel:
    """Return the kernel of the target. Raises: SdyError SDY-X003 if it is unknown."""
    target = op.call_target_name.data
    known = TARGETS.get(target)
    kernel = lapack_call(op) if known is None else known(op)
    if kernel is None and target == CUSTOM_PARTITIONING:
        raise failure("SDY-X109", f"@{target} calls a Python function that the program does not have", CUSTOM_HINT)
    if kernel is None:
        names = ", ".join(f"@{name}" for name in TARGETS)
        hint = f"give it one with sdy.register_custom_call({target!r}, kernel); known targets: {names}, "
        hint += f"and @lapack_?..._ffi for s, d, c or z and {', '.join(ROUTINES)}"
        raise failure("SDY-X003", f"no kernel for the custom call @{target}", hint=hint)
    return kernel
