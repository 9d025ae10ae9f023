"""Kernels of the `check` dialect, and of the custom calls with the same meaning: they fail on unexpected values.

Arrays are compared element by element: equal, almost equal, or close in units of the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects import interpreter_dialect as ops
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.interpreter.arrays.element_types import Array, bit_width, compute_dtype, is_complex, is_float
from sdy.interpreter.arrays.literals import array_of, element_text
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first index, in row-major order, at which arrays differ, the number of such indices, and both values."""

    index: tuple[int, ...]
    count: int
    actual: Array
    expected: Array


def mismatch(actual: Array, expected: Array, agree: Bools) -> Mismatch | None:
    """Return the first element where `agree` is false; None if it is true everywhere."""
    if agree.all():
        return None
    position = int(np.flatnonzero(~agree.reshape(-1))[0])
    index = tuple(int(number) for number in np.unravel_index(position, agree.shape))
    values = (np.broadcast_to(array, agree.shape)[index] for array in (actual, expected))
    return Mismatch(index, int(np.count_nonzero(~agree)), *(np.asarray(value) for value in values))


def equal(actual: Array, expected: Array) -> Bools:
    """Return for each element whether the values are equal, or both NaN."""
    left, right = _computable(actual), _computable(expected)
    same = np.equal(left, right)
    if is_float(left.dtype) or is_complex(left.dtype):
        same = same | (np.isnan(left) & np.isnan(right))
    return np.asarray(same)


def almost_equal(actual: Array, expected: Array, tolerance: float) -> Bools:
    """Return for each element whether the values are equal, or differ by at most `tolerance` in both complex parts.

    The tolerance is absolute for expected values up to 1, and relative to larger ones: the results of narrow floats
    have no more digits.
    """
    if is_complex(actual.dtype):
        return almost_equal(np.real(actual), np.real(expected), tolerance) & almost_equal(
            np.imag(actual), np.imag(expected), tolerance
        )
    if not is_float(actual.dtype):
        return equal(actual, expected)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, but equal() accepts it
        distance = np.abs(np.subtract(actual.astype(np.float64), expected.astype(np.float64)))
        allowed = tolerance * np.maximum(1.0, np.abs(expected.astype(np.float64)))
    return np.asarray(equal(actual, expected) | (distance <= allowed) & np.isfinite(allowed))


def ulp_distance(actual: Array, expected: Array) -> NDArray[np.float64]:
    """Return for each element the distance in units of the last place; infinite if only one value is NaN.

    Complex values take the larger distance of their parts; integers and booleans give 0 or infinity.
    """
    if is_complex(actual.dtype):
        return np.maximum(
            ulp_distance(np.real(actual), np.real(expected)), ulp_distance(np.imag(actual), np.imag(expected))
        )
    if not is_float(actual.dtype):
        return np.where(equal(actual, expected), 0.0, np.inf)
    left, right = _ordinal(actual), _ordinal(expected)
    # Unsigned, since floats of opposite sign may be farther apart than an i64 can count.
    steps = np.where(
        left > right, left.view(np.uint64) - right.view(np.uint64), right.view(np.uint64) - left.view(np.uint64)
    )
    wide_left, wide_right = _computable(actual), _computable(expected)
    one_is_nan = np.isnan(wide_left) != np.isnan(wide_right)
    both_are_nan = np.isnan(wide_left) & np.isnan(wide_right)
    return np.where(one_is_nan, np.inf, np.where(both_are_nan, 0.0, steps.astype(np.float64)))


def _ordinal(array: Array) -> NDArray[np.int64]:
    """Return integers that number the floats of the format in order; both zeros are 0."""
    bits = np.asarray(array, order="C").view(np.dtype(f"i{array.dtype.itemsize}")).astype(np.int64)
    width = bit_width(array.dtype)
    magnitude = bits & ((1 << (width - 1)) - 1)
    is_negative = (bits >> (width - 1)) & 1 == 1
    return np.where(is_negative, -magnitude, magnitude)


def _computable(array: Array) -> Array:
    return array.astype(compute_dtype(array.dtype), copy=False)


KERNELS = KernelTable()

Agreement = Callable[[Array, Array], Bools]
DEFAULT_TOLERANCE = 1e-4
DEFAULT_ULPS = (0, 3)


@KERNELS.of(ops.ExpectEqOp, ops.ExpectEqConstOp)
def expect_eq(op: ops.ExpectEqOp | ops.ExpectEqConstOp) -> Kernel:
    """Check that all elements are equal to those of the other operand, or of a constant."""
    return _with_constant(op, checking(equal, "", op.lhs.type))


@KERNELS.of(ops.ExpectAlmostEqOp, ops.ExpectAlmostEqConstOp)
def expect_almost_eq(op: ops.ExpectAlmostEqOp | ops.ExpectAlmostEqConstOp) -> Kernel:
    """Check that all elements differ by at most the tolerance."""
    return _with_constant(op, almost(_float(op.tolerance, DEFAULT_TOLERANCE), op.lhs.type))


@KERNELS.of(ops.ExpectCloseOp)
def expect_close(op: ops.ExpectCloseOp) -> Kernel:
    """Check that the largest distance in units of the last place is between two bounds."""
    low, high = DEFAULT_ULPS
    return close(_int(op.min_ulp_difference, low), _int(op.max_ulp_difference, high), op.actual.type)


@KERNELS.of(ops.ExpectSerializedEqOp)
def expect_serialized_eq(op: ops.ExpectSerializedEqOp) -> Kernel:
    """Check that all elements equal the value that a probe saw, the first time or at the given iteration."""
    probe, iteration = op.probe_id.data, _int(op.iteration, 0)
    check = checking(equal, "", op.expected.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        seen = context.host.probes.get(probe, [])
        if iteration >= len(seen):
            known = ", ".join(f'"{name}" ({len(values)})' for name, values in context.host.probes.items())
            raise failure(
                "SDY-X014",
                f'probe "{probe}" has no value {iteration}: it saw {len(seen)} values',
                hint=f"probes, and how many values each saw: {known or 'none'}",
            )
        return check(context, (context.replicated(seen[iteration]), arrays[0]))

    return kernel


def checking(agree: Agreement, relation: str, value_type: Attribute) -> Kernel:
    """Return the kernel that compares an actual with an expected value and fails if they do not agree."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        actual, expected = arrays
        found = mismatch(actual, expected, agree(actual, expected))
        if found is not None:
            raise _not_as_expected(context, found, relation, value_type)
        return ()

    return kernel


def almost(tolerance: float, value_type: Attribute) -> Kernel:
    """Return the kernel that checks that values differ by at most `tolerance`."""
    return checking(partial(almost_equal, tolerance=tolerance), f"a value within {tolerance:g} of ", value_type)


def close(low: int, high: int, value_type: Attribute) -> Kernel:
    """Return the kernel that checks that the largest distance of values is between `low` and `high` floats."""

    def agree(actual: Array, expected: Array) -> Bools:
        distance = ulp_distance(actual, expected)
        return np.asarray((distance <= high) & (distance.max(initial=0.0) >= low))

    return checking(agree, f"a value {low} to {high} floats from ", value_type)


def _with_constant(op: Operation, check: Kernel) -> Kernel:
    """Return the check, against the constant of an op that has one in place of an operand."""
    if not isinstance(op, ops.ExpectConstOp):
        return check
    constant = array_of(op.value.data)
    return lambda context, arrays: check(context, (arrays[0], context.replicated(constant)))


def _not_as_expected(context: KernelContext, found: Mismatch, relation: str, value_type: Attribute) -> SdyError:
    index = list(found.index[context.rank :])
    location = f" at index {index}" if index else ""
    if context.grid is not None and context.grid.position_count > 1:
        location += f" on device {_device_at(context, found)}"
    actual, expected = (element_text(value, value_type) for value in (found.actual, found.expected))
    others = f" ({found.count} elements differ)" if found.count > 1 else ""
    return failure("SDY-X008", f"expected {relation}{expected}, got {actual}{location}{others}")


def _device_at(context: KernelContext, found: Mismatch) -> int:
    assert context.grid is not None
    position = int(np.ravel_multi_index(found.index[: context.rank], context.batch)) if context.batch else 0
    return int(context.grid.ids[position])


def _float(attribute: Attribute | None, default: float) -> float:
    return attribute.value.data if isinstance(attribute, FloatAttr) else default


def _int(attribute: Attribute | None, default: int) -> int:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else default


CUSTOM_CALLS: dict[str, Callable[[CustomCallOp], Kernel]] = {
    "check.eq": lambda op: checking(equal, "", op.inputs[0].type),
    "check.expect_eq": lambda op: checking(equal, "", op.inputs[0].type),
    "check.expect_almost_eq": lambda op: almost(
        _float(op.attributes.get("tolerance"), DEFAULT_TOLERANCE), op.inputs[0].type
    ),
    "check.expect_close": lambda op: close(
        _int(op.attributes.get("min_ulp_difference"), DEFAULT_ULPS[0]),
        _int(op.attributes.get("max_ulp_difference"), DEFAULT_ULPS[1]),
        op.inputs[0].type,
    ),
}
