"""The arithmetic of contractions, and the work of ops that are kernels of their own: those of users, and custom calls.

A multiplication and an addition count as one operation each. A custom call is priced by what was registered for its
kernel or its target, or else by the estimate that the kernel itself carries (`pl.CostEstimate` of Pallas).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from math import isfinite, prod
from typing import NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Operation

from sdy.cost.executions import executions
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.diagnostics.user_code import is_code_of_user
from sdy.diagnostics.wording import first_names
from sdy.dialects.chlo.structured import RaggedDotOp
from sdy.dialects.facts.traits import Elementwise, has_fact, is_terminator
from sdy.dialects.ir.op_location import span_of, user_code_error_at
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.calls import (
    IDENTITY_CALLS,
    PYTHON_CALLS,
    RAGGED_ALL_TO_ALL,
    CustomCallOp,
    is_lapack_call,
    names_of_call,
)
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.window import ConvolutionOp
from sdy.dialects.text.printer import op_name
from sdy.rules.custom_calls import BUILT_IN

FLOPS: OpTable[int] = OpTable()


@FLOPS.of(DotGeneralOp)
def _of_dot_general(op: DotGeneralOp) -> int:
    contracted = op.dot_dimension_numbers.data.lhs_contracting_dimensions
    return 2 * prod(shape_of(op.result)) * prod(shape_of(op.lhs)[dim] for dim in contracted)


@FLOPS.of(DotOp)
def _of_dot(op: DotOp) -> int:
    return 2 * prod(shape_of(op.result)) * shape_of(op.lhs)[-1]


@FLOPS.of(RaggedDotOp)
def _of_ragged_dot(op: RaggedDotOp) -> int:
    numbers = op.ragged_dot_dimension_numbers.data
    shared = (*numbers.rhs_dims().values(), *numbers.rhs_group_dimensions)
    return 2 * prod(shape_of(op.lhs)) * prod(size for dim, size in enumerate(shape_of(op.rhs)) if dim not in shared)


@FLOPS.of(ConvolutionOp)
def _of_convolution(op: ConvolutionOp) -> int:
    kernel = shape_of(op.rhs)
    features = kernel[op.dimension_numbers.data.kernel_output_feature_dimension]
    return 2 * prod(shape_of(op.result)) * prod(kernel) // max(features, 1)


def contraction_flops(op: Operation) -> int:
    """Return the operations of a `dot_general`, `dot` or `convolution`; 0 for any other op.

    Windows of a convolution that reach into padding count in full.
    """
    return FLOPS.get(op) or 0


def op_flops(op: Operation) -> float:
    """Return the operations of a contraction, and of an op whose work is registered or estimated; 0 for others."""
    cost = None if type(op) in FLOPS else cost_of_op(op)
    return contraction_flops(op) if cost is None else cost.flops


def flops_of(local: ModuleOp) -> int:
    """Return the operations of all contractions and kernels of users that a local program runs on one device."""
    return sum(times * round(op_flops(op)) for op, times in executions(local) if is_static(op))


def is_static(op: Operation) -> bool:
    """Return whether the shapes of all operands and results of an op are static."""
    return all(static_shape(value.type) is not None for value in (*op.operands, *op.results))


OpT = TypeVar("OpT", bound=Operation)
_ESTIMATE = re.compile(r'"cost_estimate"\s*:\s*\{([^}]*)\}')
_ENTRY = re.compile(r'"(\w+)"\s*:\s*([0-9.e+]+)')


class OpCost(NamedTuple):
    """The work of one run of an op on one device: floating point operations, and the bytes that it reads and writes.

    Without `bytes`, the op reads each operand once and writes each result once.
    """

    flops: float = 0.0
    bytes: float | None = None


Number = Callable[[CustomCallOp], float] | float
CostFunction = Callable[[OpT], OpCost | float | None]
COSTS: OpTable[OpCost | float | None] = OpTable()
# The registered costs of custom calls, by target or by name of the kernel.
BY_NAME: dict[str, Callable[[CustomCallOp], OpCost | None]] = {}


@COSTS.of(CustomCallOp)
def _of_custom_call(op: CustomCallOp) -> OpCost | None:
    for name in names_of_call(op):
        if name in BY_NAME:
            return BY_NAME[name](op)
    return _estimate_in(op)


def _estimate_in(op: CustomCallOp) -> OpCost | None:
    """Return the estimate that a kernel carries in its configuration, for the shapes that it was compiled for."""
    config = op.backend_config
    found = _ESTIMATE.search(config.data) if isinstance(config, StringAttr) else None
    if found is None:
        return None
    entries = {name: float(value) for name, value in _ENTRY.findall(found[1])}
    return OpCost(entries.get("flops", 0.0), entries.get("bytes_accessed"))


def cost_of_op(op: Operation) -> OpCost | None:
    """Return the registered or estimated work of an op on its own shapes; None if it is a part of other kernels."""
    found = COSTS.get(op)
    return OpCost(found) if isinstance(found, int | float) and not isinstance(found, OpCost) else found


def checked_cost(function: CostFunction[OpT]) -> Callable[[OpT], OpCost | None]:
    """Return a function that calls `function` of a user, and checks what it returns.

    It raises SdyError SDY-T218 if `function` raises, or returns neither a cost of finite numbers, nor None.
    """

    @wraps(function)
    def cost_of(op: OpT) -> OpCost | None:
        try:
            returned = cast(object, function(op))
        except SdyError:
            raise
        except Exception as error:  # the code of the user may raise anything
            hint = "fix the error in the function that returns the cost"
            raise user_code_error_at(op, "SDY-T218", f"the cost of {described(op)}", error, hint) from error
        cost = OpCost(float(returned)) if isinstance(returned, int | float) else returned
        if cost is None:
            return None
        if not isinstance(cost, OpCost) or not all(each is None or (each >= 0 and isfinite(each)) for each in cost):
            message = f"the cost of {described(op)}: expected FLOPs, an OpCost or None, got {returned!r}"
            hint = "return sdy.extend.OpCost(flops=..., bytes=...), of one run on the shapes of the op"
            raise SdyError(Diagnostic("SDY-T218", message, span_of(op), hint))
        return cost

    return cost_of


def add_call(name: str, flops: Number | None, moved: Number | None) -> None:
    """Price the custom calls of a target, or of a kernel.

    Raises: ValueError if a cost is registered for this name already.
    """
    if name in BY_NAME:
        raise ValueError(f"the custom call @{name} has a cost already")

    def cost(op: CustomCallOp) -> OpCost:
        count, size = (each(op) if callable(each) else each for each in (flops, moved))
        return OpCost(count or 0.0, size)

    BY_NAME[name] = checked_cost(cost)


def unpriced_ops(module: ModuleOp) -> dict[str, Operation]:
    """Return the first op of each name whose work nobody knows, in program order."""
    found: dict[str, Operation] = {}
    for op in pre_order(module):
        if _is_unpriced(op):
            found.setdefault(described(op), op)
    return found


def unpriced_remark(module: ModuleOp) -> Diagnostic | None:
    """Return a remark that names the ops of a module whose work nobody knows, at the first one; None if none is."""
    unpriced = unpriced_ops(module)
    if not unpriced:
        return None
    names = list(unpriced)
    counts = "counts" if len(names) == 1 else "count"
    message = (
        f"no cost is known for {first_names(names)}, which {counts} as reading the operands and writing the results"
    )
    hint = "register costs=... with the dialect, or flops=... and bytes=... with the custom call"
    return Diagnostic("SDY-T219", message, span_of(unpriced[names[0]]), hint, severity=Severity.REMARK)


def _is_unpriced(op: Operation) -> bool:
    if isinstance(op, CustomCallOp):
        return op.call_target_name.data not in _ONLY_BYTES and not is_lapack_call(op) and COSTS.get(op) is None
    is_foreign = isinstance(op, UnregisteredOp) or is_code_of_user(type(op))
    is_alike = has_fact(type(op), Elementwise) or is_terminator(op)
    return is_foreign and bool(op.results) and not is_alike and COSTS.get(op) is None


_ONLY_BYTES = frozenset((*IDENTITY_CALLS, *PYTHON_CALLS, RAGGED_ALL_TO_ALL, *BUILT_IN))


def described(op: Operation) -> str:
    """Return the name of an op in messages; of a custom call, its target and kernel."""
    if not isinstance(op, CustomCallOp):
        return op_name(op)
    *kernel, target = names_of_call(op)
    return f"@{target}" + "".join(f" ({name})" for name in kernel)
