"""Kernels of ops that users register. A mistake in one is a diagnostic; the kernels of sdy are not checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar, cast

import numpy as np
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.op_location import user_code_error_at
from sdy.dialects.sharded_types import static_shape
from sdy.interpreter.arrays.element_types import DType, dtype_of_type
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, leaf_types
from sdy.model.shape import StaticShape

T = TypeVar("T")
ArrayKind = tuple[DType, StaticShape]  # without batch dims
KernelFactory = Callable[[Operation], Kernel]


def checked_kernel(factory: KernelFactory) -> KernelFactory:
    """Return a function that creates the kernel of an op with `factory`, and checks the arrays that it returns.

    Both raise SdyError SDY-X111 if the code of the user raises; the kernel raises SDY-X112 if the arrays do not fit the
    types of the results.
    """

    @wraps(factory)
    def kernel_of(op: Operation) -> Kernel:
        kernel = _guarded(op, f"creating the kernel of {op.name}", lambda: factory(op))
        expected = [_kind_of(each) for result in op.results for each in leaf_types(result.type)]

        def run(context: KernelContext, arrays: Arrays) -> Arrays:
            returned = cast(object, _guarded(op, f"the kernel of {op.name}", lambda: kernel(context, arrays)))
            found = returned_arrays(returned)
            _check(op, context, found, expected)
            return found

        return run

    return kernel_of


def _guarded(op: Operation, action: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except (SdyError, MemoryError):  # the executor reports them
        raise
    except Exception as error:  # the code of the user may raise anything
        hint = "a kernel gets the arrays of all devices: first the dims of the devices, then those of a shard"
        raise user_code_error_at(op, "SDY-X111", action, error, hint) from error


def _check(op: Operation, context: KernelContext, found: Arrays, expected: Sequence[ArrayKind | None]) -> None:
    """Raise SdyError SDY-X112 if the arrays are not of these kinds. A batch dim may also have size 1."""
    have_batch = all(
        array.ndim >= context.rank
        and all(size in (1, full) for size, full in zip(array.shape, context.batch, strict=False))
        for array in found
    )
    batch = () if have_batch else context.batch
    kinds = [(each.dtype, context.local(each) if have_batch else each.shape) for each in found]
    fits = len(found) == len(expected) and all(each in (None, kind) for each, kind in zip(expected, kinds, strict=True))
    if have_batch and fits:
        return
    required = ", ".join("an array" if each is None else kind_text(each[0], batch + each[1]) for each in expected)
    returned = ", ".join(kind_text(*each) for each in kinds) or "nothing"
    hint = "return one array per result, of the type that the program gives it, after the dims of the devices"
    raise failure("SDY-X112", f"the kernel of {op.name} must return {required}, it returned {returned}", hint)


def returned_arrays(returned: object) -> Arrays:
    """Return what a function of the user returned as arrays: those of a tuple or list, or the only one."""
    listed = cast("Sequence[object]", returned) if isinstance(returned, tuple | list) else (returned,)
    return tuple(map(np.asarray, listed))


def kind_text(dtype: DType, shape: StaticShape) -> str:
    """Return the text of a kind of arrays in messages: `float32[4, 8]`."""
    return f"{dtype}{list(shape)}"


def _kind_of(kind: Attribute) -> ArrayKind | None:
    """Return the kind of the arrays of a type; None if it does not determine one, such as a type of the user."""
    shape = static_shape(kind)
    try:
        return None if shape is None else (dtype_of_type(kind), shape)
    except SdyError:
        return None
