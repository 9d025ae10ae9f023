"""Kernels of custom calls, by the name of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from sdy.dialects.ir.op_location import user_code_error_at
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.stablehlo.attributes.types import TokenType, shape_of, tensor_type_of
from sdy.dialects.stablehlo.calls import (
    CALLBACKS,
    CUSTOM_PARTITIONING,
    IDENTITY_CALLS,
    RAGGED_ALL_TO_ALL,
    CustomCallOp,
    backend_config_of,
    is_lapack_call,
    names_of_call,
    ragged_all_to_all_groups,
)
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups, layout_of
from sdy.interpreter.failure import failure
from sdy.interpreter.host import kernel_key
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count
from sdy.interpreter.ops import check
from sdy.interpreter.ops.collectives import grid_of_devices
from sdy.interpreter.ops.control import token_value
from sdy.interpreter.ops.lapack import ROUTINES, lapack_call
from sdy.interpreter.ops.linalg import sorted_together
from sdy.interpreter.ops.transfers import by_device, stack_devices
from sdy.interpreter.user_kernels import kind_text, returned_arrays
from sdy.model.shape import StaticShape

OPERANDS = 6  # rows, result, starts, sizes, places, and the sizes that each device receives


def ragged_all_to_all(op: CustomCallOp) -> Kernel:
    """Send as many rows to each device of a group as a device likes.

    A device has the start and the number of the rows that it sends to each device, in group order, and the row of the
    result of that device where they belong. The other rows of a result are those of the second operand.
    Source: `jax.lax.ragged_all_to_all`.
    """
    table = ragged_all_to_all_groups(op)
    if table is None or len(op.operands) != OPERANDS:
        raise failure("SDY-X108", f"@{RAGGED_ALL_TO_ALL} needs {OPERANDS} operands and replica_groups")
    groups = ReplicaGroups(tuple(map(tuple, array_of(table.data).tolist())), GroupingStrategy.FLATTENED_IDS)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        rows, result, starts, sizes, places, _ = (layout.gather_members(array) for array in arrays)
        result = result.copy()
        for group in np.ndindex(result.shape[: layout.group_rank]):
            _send(rows[group], result[group], starts[group], sizes[group], places[group])
        return (layout.to_each_member(result),)

    return kernel


def _send(rows: Array, result: Array, starts: Array, sizes: Array, places: Array) -> None:
    """Write the rows that each member of a group sends to the results of the members."""
    count = len(rows)
    for sender in range(count):
        for index, (start, size, place) in enumerate(zip(starts[sender], sizes[sender], places[sender], strict=True)):
            receiver = index * count // len(starts[sender])
            _check_range("operand", sender, start, size, rows.shape[1])
            _check_range("result", receiver, place, size, result.shape[1])
            result[receiver, place : place + size] = rows[sender, start : start + size]


def _check_range(what: str, member: int, start: int, size: int, count: int) -> None:
    if not 0 <= start <= start + size <= count:
        message = f"rows {start} to {start + size} of the {what} of member {member}, which has {count} rows"
        hint = 'give arguments by name, as in program.verify(inputs={"sizes": array})'
        raise failure("SDY-X108", f"@{RAGGED_ALL_TO_ALL} sends {message}", hint)


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
    module = enclosing(op, ModuleOp)
    names = [name.root_reference.data for name in op.called_computations or ()]
    func = functions_of(module).get(names[0]) if module is not None and names else None
    return func.body.block if func is not None and func.body.blocks else None


def callback(op: CustomCallOp) -> Kernel:
    """Call the function of the host with the number `index` once per device, with the tensors that the device holds."""
    value = backend_config_of(op).get("index")
    key = str(value.value.data) if isinstance(value, IntegerAttr) else ""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        function = _function_of_host(op, context, key)
        # JAX passes the token of an ordered call to the function, which returns it before its results.
        held = [tuple(map(np.array, function(*own))) for _, own in by_device(context, arrays)]
        stacked = stack_devices(grid_of_devices(context), held)
        returned = zip(stacked, op.results, strict=True)
        return tuple(token_value(context) if isinstance(each.type, TokenType) else array for array, each in returned)

    return kernel


def custom_partitioning(op: CustomCallOp) -> Kernel:
    """Call the function that `custom_partitioning` wraps, or on shards what its partition function returns for them."""
    key = op.backend_config.data if isinstance(op.backend_config, StringAttr) else ""
    results = [(shape, dtype) for dtype, shape in _kinds(op.results)]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        function = _function_of_host(op, context, key)
        if context.field is not None:
            raise failure("SDY-X022", f"@{CUSTOM_PARTITIONING} computes floats, and has no form in exact numbers")
        return _kernel_of(partial(function, results=results), op)(context, arrays)

    return kernel


def _function_of_host(op: CustomCallOp, context: KernelContext, key: str) -> Callable[..., Sequence[Array]]:
    """Return a Python function of the process. Raises: SdyError SDY-X109 if the program does not have it."""
    if key not in context.host.callbacks:
        hint = "functions are known only in a program that sdy.from_jax lowered, not in one read from text"
        raise failure("SDY-X109", f"@{op.call_target_name.data} calls an unknown Python function", hint)
    return context.host.callbacks[key]


def unchanged(op: CustomCallOp) -> Kernel:
    """Return the operands: the call tells XLA where to store them, or reports their sharding."""
    return lambda context, arrays: arrays


TARGETS: dict[str, Callable[[CustomCallOp], Kernel]] = {
    **check.CUSTOM_CALLS,
    **dict.fromkeys(sorted(CALLBACKS), callback),
    **dict.fromkeys(sorted(IDENTITY_CALLS), unchanged),
    "ApproxTopK": approximate_top_k,
    CUSTOM_PARTITIONING: custom_partitioning,
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
    expected = _kinds(op.results)
    if types != expected:
        texts = [", ".join(kind_text(*kind) for kind in kinds) for kinds in (expected, types)]
        hint = "return one array per result, of the type that the program gives it"
        raise failure("SDY-X112", f"the kernel of @{target} must return {texts[0]}, it returned {texts[1]}", hint)
    return found


def _known(op: CustomCallOp) -> Callable[[CustomCallOp], Kernel] | None:
    return next((TARGETS[name] for name in names_of_call(op) if name in TARGETS), None)


def is_opaque(op: Operation) -> TypeIs[CustomCallOp]:
    """Return whether an op is a call without a kernel and without effects: it is some function of its operands.

    The parts of an asynchronous collective are none, since they depend on the operands of other devices.
    """
    if not isinstance(op, CustomCallOp) or is_lapack_call(op) or op.called_computations or _known(op) is not None:
        return False
    if any(name.endswith(("-start", "-done")) for name in names_of_call(op)):
        return False
    return not (op.has_side_effect and op.has_side_effect.value.data)


@KERNELS.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> Kernel:
    """Return the kernel of the target; without one, that of the program of JAX that the call comes from."""
    known = _known(op)
    kernel = lapack_call(op) if known is None else known(op)
    return _of_process(op) if kernel is None else kernel


def _of_process(op: CustomCallOp) -> Kernel:
    """Run a kernel of Pallas in interpret mode, which JAX does where the program was lowered.

    The kernel raises SdyError SDY-X003 if that is another process, or another kernel has the same name and types.
    """
    key = key_of_call(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        if key in context.host.callbacks:
            return _kernel_of(context.host.callbacks[key], op)(context, arrays)
        names = ", ".join(f"@{name}" for name in TARGETS)
        hint = f"give it one with sdy.register_custom_call({names_of_call(op)[0]!r}, kernel); known targets: {names}, "
        hint += f"and @lapack_?..._ffi for s, d, c or z and {', '.join(ROUTINES)}"
        raise failure("SDY-X003", f"no kernel for the custom call @{op.call_target_name.data}", hint=hint)

    return kernel


def key_of_call(op: CustomCallOp) -> str:
    """Return the key of the kernel of a call among the functions of the process."""
    return kernel_key(names_of_call(op)[0], _kinds(op.operands), _kinds(op.results))


def _kinds(values: Sequence[SSAValue]) -> list[tuple[DType, StaticShape]]:
    return [(dtype_of_type(each.type), shape_of(each)) for each in values if tensor_type_of(each) is not None]
