"""Kernels of the `check` dialect, and of the custom calls with the same meaning: they fail on unexpected values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects import interpreter_dialect as ops
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.interpreter.arrays.comparison import Bools, Mismatch, almost_equal, equal, mismatch, ulp_distance
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.literals import array_of, element_text
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable

KERNELS = KernelTable()

Agreement = Callable[[Array, Array], Bools]
DEFAULT_TOLERANCE = 1e-4
DEFAULT_ULPS = (0, 3)


@KERNELS.of(ops.ExpectEqOp)
def expect_eq(op: ops.ExpectEqOp) -> Kernel:
    """Check that all elements are equal."""
    return checking(equal, "", op.lhs.type)


@KERNELS.of(ops.ExpectAlmostEqOp)
def expect_almost_eq(op: ops.ExpectAlmostEqOp) -> Kernel:
    """Check that all elements differ by at most the tolerance."""
    return almost(_float(op.tolerance, DEFAULT_TOLERANCE), op.lhs.type)


@KERNELS.of(ops.ExpectCloseOp)
def expect_close(op: ops.ExpectCloseOp) -> Kernel:
    """Check that the largest distance in units of the last place is between two bounds."""
    low, high = DEFAULT_ULPS
    return close(_int(op.min_ulp_difference, low), _int(op.max_ulp_difference, high), op.actual.type)


@KERNELS.of(ops.ExpectEqConstOp)
def expect_eq_const(op: ops.ExpectEqConstOp) -> Kernel:
    """Check that all elements equal those of a constant."""
    return _with_constant(op, checking(equal, "", op.lhs.type))


@KERNELS.of(ops.ExpectAlmostEqConstOp)
def expect_almost_eq_const(op: ops.ExpectAlmostEqConstOp) -> Kernel:
    """Check that all elements differ from those of a constant by at most the tolerance."""
    return _with_constant(op, almost(_float(op.tolerance, DEFAULT_TOLERANCE), op.lhs.type))


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

    def agree(actual: Array, expected: Array) -> Bools:
        return almost_equal(actual, expected, tolerance)

    return checking(agree, f"a value within {tolerance:g} of ", value_type)


def close(low: int, high: int, value_type: Attribute) -> Kernel:
    """Return the kernel that checks that the largest distance of values is between `low` and `high` floats."""

    def agree(actual: Array, expected: Array) -> Bools:
        distance = ulp_distance(actual, expected)
        return np.asarray((distance <= high) & (distance.max(initial=0.0) >= low))

    return checking(agree, f"a value {low} to {high} floats from ", value_type)


def _with_constant(op: ops.ExpectConstOp, check: Kernel) -> Kernel:
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
