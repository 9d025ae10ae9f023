"""Sum matrix products over devices without storing the product of each device.

    before  a = dot x, v               after  d = all_reduce(add(dot(x, v), dot(y, w)))
            b = dot y, w
            c = add a, b
            d = all_reduce c (a sum)

A reduce_scatter is treated in the same way. The devices of a group hold blocks of two matrices along the contracting
dim. One product of the joined blocks is the sum of their products. It takes as many operations, but no memory for the
partial sums of all devices. Each group multiplies its own matrices. The terms are added in another order, which devices
are free to choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from sdy.dialects.stablehlo.collectives import AllReduceOp, ReduceScatterOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotLikeOp, DotOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type
from sdy.interpreter.devices.replica_groups import AxisGroups, layouts_of
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext
from sdy.interpreter.ops.collectives import groups_of, scattered
from sdy.interpreter.ops.contract import ContractedDims, can_contract_over, contracted
from sdy.interpreter.ops.contraction import contracted_dims
from sdy.interpreter.ops.reduction import Reducer
from sdy.interpreter.reuse import DTYPES

SlotNumbers = tuple[int, ...]

Slots = dict[int, Array]


def with_sums_of_products(steps: Sequence[CompiledOp], results: SlotNumbers) -> list[CompiledOp]:
    """Return the steps with each collective that adds sums of matrix products joined with the steps that compute them.

    A product or sum that has another user, or is in `results`, the slots of the results of the block, is not joined.
    """
    uses = Counter([*(slot for step in steps for slot in step.operands), *results])
    temporary: dict[int, CompiledOp] = {
        slot: step
        for step in steps
        if isinstance(step.op, DotLikeOp | AddOp)
        for slot in step.results
        if uses[slot] == 1
    }
    all_parts = {step.results: _parts(step, temporary) for step in steps if _is_sum_of_floats(step)}
    joined = {slot for parts in all_parts.values() for part in parts for slot in part.results}
    rewritten: list[CompiledOp] = []
    for step in steps:
        parts = all_parts.get(step.results, ())
        if parts:
            inputs = tuple(slot for part in parts for slot in part.operands if slot not in joined)
            rewritten.append(replace(step, kernel=_kernel(parts, step, inputs), operands=inputs))
        elif not joined.intersection(step.results):
            rewritten.append(step)
    return rewritten


def _is_sum_of_floats(step: CompiledOp) -> bool:
    """Return whether the step is a collective that adds one operand, of a dtype whose products are not rounded."""
    if not isinstance(step.op, AllReduceOp | ReduceScatterOp) or len(step.operands) != 1:
        return False
    is_sum = Reducer(step.op.computation.block).combiners == (AddOp,)
    return is_sum and dtype_of_type(step.op.results[0].type) in DTYPES


def _parts(collective: CompiledOp, temporary: dict[int, CompiledOp]) -> tuple[CompiledOp, ...]:
    """Return the products that the operand adds and these additions, in order; none if it adds other values too."""
    found: list[CompiledOp] = []
    pending = list(collective.operands)
    while pending:
        part = temporary.get(pending.pop())
        if part is None:
            return ()
        found.append(part)
        if isinstance(part.op, AddOp):
            pending += part.operands
    return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class _Product:
    """A product among the parts, which can be contracted over devices as well."""

    step: CompiledOp
    dims: ContractedDims
    dtype: DType

    def is_summable(self, context: KernelContext, slots: Slots, axes: tuple[int, ...]) -> bool:
        lhs, rhs = (slots[slot] for slot in self.step.operands)
        return can_contract_over(context, lhs, rhs, self.dims, self.dtype, axes)

    def summed(self, context: KernelContext, slots: Slots, axes: tuple[int, ...]) -> Array:
        lhs, rhs = (slots[slot] for slot in self.step.operands)
        return contracted(context, lhs, rhs, self.dims, self.dtype, axes)


def _kernel(parts: Sequence[CompiledOp], collective: CompiledOp, inputs: SlotNumbers) -> Kernel:
    """Return the kernel of the joined step: it runs the steps one by one if it cannot contract over the devices."""
    products = [
        _Product(part, contracted_dims(part.op), dtype_of_type(part.op.result.type))
        for part in parts
        if isinstance(part.op, DotGeneralOp | DotOp)
    ]
    additions = [part for part in parts if isinstance(part.op, AddOp)]

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        slots = dict(zip(inputs, arrays, strict=True))
        layout = _axis_groups(context, collective)
        if layout is None or not all(product.is_summable(context, slots, layout.axes) for product in products):
            return _run((*parts, collective), context, slots)
        for product in products:
            (slot,) = product.step.results
            slots[slot] = product.summed(context, slots, layout.axes)
        (total,) = _run(additions, context, slots) if additions else (slots[collective.operands[0]],)
        if isinstance(collective.op, ReduceScatterOp):
            return (scattered(collective.op, layout, total.squeeze(layout.axes)),)
        return (total,)

    return kernel


def _axis_groups(context: KernelContext, collective: CompiledOp) -> AxisGroups | None:
    """Return the groups of the devices; None if they are not a product of grid axes."""
    if context.grid is None or not isinstance(collective.op, AllReduceOp | ReduceScatterOp):
        return None
    layouts = layouts_of(groups_of(collective.op), context.grid)
    return layouts[0] if len(layouts) == 1 and isinstance(layouts[0], AxisGroups) else None


def _run(steps: Sequence[CompiledOp], context: KernelContext, slots: Slots) -> Arrays:
    """Run the steps, each of which has one result, and return the last one."""
    for step in steps:
        (slots[step.results[0]],) = step.kernel(context, tuple(slots[slot] for slot in step.operands))
    return (slots[steps[-1].results[0]],)


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """One op: its kernel, the slots it reads and writes, and the slots that no later op reads.

    `operands` ends with the slots of the values that the op's regions capture.
    """

    op: Operation
    kernel: Kernel
    operands: SlotNumbers
    results: SlotNumbers
    dead: SlotNumbers


@dataclass(frozen=True, slots=True)
class CompiledBlock:
    """The steps of a block in program order. SlotNumbers start with the arguments, followed by the captured values."""

    argument_count: int
    captured_count: int
    slot_count: int
    steps: tuple[CompiledOp, ...]
    results: SlotNumbers
