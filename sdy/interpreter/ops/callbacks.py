"""Kernels of custom calls of JAX: callbacks, as in `debug.print`, and calls that return their operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import IntegerAttr

from sdy.dialects.stablehlo.attributes.token_types import TokenType
from sdy.dialects.stablehlo.call_targets import CALLBACKS, IDENTITY_CALLS
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext
from sdy.interpreter.ops.collectives import grid_of_devices
from sdy.interpreter.ops.control import token_value
from sdy.interpreter.ops.transfers import by_device, stack_devices


def callback(op: CustomCallOp) -> Kernel:
    """Call the function of the host with the number `index` once per device, with the tensors that the device holds."""
    value = backend_config_of(op).get("index")
    index = value.value.data if isinstance(value, IntegerAttr) else -1
    is_token = [isinstance(each.type, TokenType) for each in op.operands]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        if not 0 <= index < len(context.host.callbacks):
            hint = "functions are known only in a program that sdy.from_jax lowered, not in one read from text"
            raise failure("SDY-X109", f"@{op.call_target_name.data} calls an unknown Python function", hint)
        function = context.host.callbacks[index]
        tensors = tuple(array for array, skipped in zip(arrays, is_token, strict=True) if not skipped)
        held = [tuple(map(np.asarray, function(*own))) for _, own in by_device(context, tensors)]
        stacked = iter(stack_devices(grid_of_devices(context), held))
        return tuple(token_value(context) if isinstance(each.type, TokenType) else next(stacked) for each in op.results)

    return kernel


def unchanged(op: CustomCallOp) -> Kernel:
    """Return the operands: the call tells XLA where to store them, or reports their sharding."""
    return lambda context, arrays: arrays


CUSTOM_CALLS: dict[str, Callable[[CustomCallOp], Kernel]] = {
    **dict.fromkeys(sorted(CALLBACKS), callback),
    **dict.fromkeys(sorted(IDENTITY_CALLS), unchanged),
}
