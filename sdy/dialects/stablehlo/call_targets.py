"""Targets of custom calls that JAX writes: calls that return their operands, and calls of Python functions."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of

# Targets that return their operands: they place or report values, and compute nothing.
IDENTITY_CALLS = frozenset(
    (
        "annotate_device_placement",
        "InspectSharding",
        "LayoutConstraint",
        "MoveToDevice",
        "MoveToHost",
        "Sharding",
        "xla.sdy.FuncResultSharding",
    )
)
_MEMORY_CALLS = frozenset(("annotate_device_placement", "MoveToDevice", "MoveToHost"))
# Targets by which JAX calls Python functions: callbacks, by their number, and `custom_partitioning`, by a key.
_ON_SHARDS = frozenset(f"xla_ffi_partitioned_python_{platform}_callback" for platform in ("cpu", "gpu"))
CALLBACKS = _ON_SHARDS | {f"xla_ffi_python_{platform}_callback" for platform in ("cpu", "gpu")}
CUSTOM_PARTITIONING = "CustomSPMDPartitioning"
CUSTOM_HINT = "call the function that jax.experimental.custom_partitioning wraps; its ops are partitioned instead"
# Sends other numbers of rows to each device of a group, as experts without a capacity need; JAX has no op for it.
RAGGED_ALL_TO_ALL = "ragged_all_to_all"
PYTHON_CALLS = CALLBACKS | {CUSTOM_PARTITIONING}


def names_of_call(op: CustomCallOp) -> tuple[str, ...]:
    """Return the name of the kernel of a call, if it has any, then the target, which all kernels of a compiler share.

    Mosaic stores the name in the attribute `kernel_name`, and Triton in its configuration.
    """
    kernel = op.attributes.get("kernel_name", backend_config_of(op).get("name"))
    return (*((kernel.data,) if isinstance(kernel, StringAttr) else ()), op.call_target_name.data)


def is_identity_call(op: Operation) -> bool:
    """Return whether the op is a custom call that returns its operands."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in IDENTITY_CALLS


def moves_to_other_memory(op: Operation) -> bool:
    """Return whether the op is a custom call that moves its operand between the memories of device and host."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in _MEMORY_CALLS


def is_callback_on_shards(op: Operation) -> bool:
    """Return whether each device calls a Python function with its shards: `jax.debug.print(..., partitioned=True)`."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in _ON_SHARDS


def is_ragged_all_to_all(op: Operation) -> bool:
    """Return whether the op sends other numbers of rows to each device of a group (`jax.lax.ragged_all_to_all`)."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data == RAGGED_ALL_TO_ALL


def ragged_all_to_all_groups(op: Operation) -> DenseElementsAttr | None:
    """Return the groups of devices of a `ragged_all_to_all`; None for other ops, and if the call lists none."""
    if not isinstance(op, CustomCallOp) or not is_ragged_all_to_all(op):
        return None
    groups = backend_config_of(op).get("replica_groups")
    return groups if isinstance(groups, DenseElementsAttr) else None


def python_call_in(root: Operation) -> CustomCallOp | None:
    """Return the first custom call in `root` that calls a Python function."""
    calls = (op for op in pre_order(root) if isinstance(op, CustomCallOp))
    return next((op for op in calls if op.call_target_name.data in PYTHON_CALLS), None)


def check_no_python_call(root: Operation, runner: str) -> None:
    """Check that the text of `root` is all that `runner` needs, XLA for example.

    Raises: SdyError SDY-X109 at the first custom call that calls a Python function, with which XLA crashes.
    """
    call = python_call_in(root)
    if call is not None:
        target = call.call_target_name.data
        message = f"{runner} cannot run @{target}, which calls a Python function of the process"
        hint = "remove debug prints and callbacks, or run on simulated devices: program.partition().run(...)"
        is_custom = target == CUSTOM_PARTITIONING
        raise SdyError(Diagnostic("SDY-X109", message, span_of(call), hint=CUSTOM_HINT if is_custom else hint))
