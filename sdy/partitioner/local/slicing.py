"""Local forms of `slice`, `pad` and `dynamic_slice`. Shards of slices and pads may exchange their edges.

Source: docs/spec/06, 1.17, 1.18 and 8.1 (G3, G18, G19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import shard_coordinates
from sdy.partitioner.emit.device_position import device_index, device_number
from sdy.partitioner.emit.emitter import Emitter, ints
from sdy.partitioner.emit.sharded_emitter import is_zero_constant
from sdy.partitioner.emit.slices import slice_at
from sdy.partitioner.local.edge_exchange import ShardedDim, exchanged
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.regroup import RegroupingEmitter
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.regrouping import Regrouping, moving_parts
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_shifts import shard_shifts_of, slice_shifts
from sdy.partitioner.on_shards.shard_spans import cheapest_exchange, exchange_of

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()

DeviceShifts = list[tuple[int, ...]]  # for each dim of a tensor, one entry per device


@CHECKS.of(ops.SliceOp, ops.PadOp)
def check_slice_or_pad(op: ops.SliceOp | ops.PadOp, checks: ShardChecks) -> None:
    """Check that operand and result are sharded alike and that no element, or only few, move to another shard.

    Without the style option `regroups_shards` none may move, as in Shardy.
    """
    shifts_along = shard_shifts_of(op)
    if not (checks.shardings.is_sharded(op.operand) or checks.shardings.is_sharded(op.result)):
        return
    checks.check_operand_sharding(op, 0, checks.shardings.of(op.result), "its result")
    for dim in range(len(shape_of(op.result))):
        count = checks.shardings.shard_count(op.operand, dim)
        is_exchanged = checks.style.regroups_shards and can_exchange_results(op, dim, count)
        if shifts_along(dim, count) is None and not is_exchanged:
            message = (
                f"{op.name} from {op.operand.type} to {op.result.type} moves elements between the "
                f"{count} shards of dim {dim}"
            )
            hint = "run sdy-resolve-permutation-factors first, or reshard so that the dim is unsharded"
            raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))


class _ShardMovement:
    """The movement of the elements of a slice or pad with global shapes, within shards and between them."""

    def __init__(self, op: ops.SliceOp | ops.PadOp) -> None:
        self._op = op
        self._shape = shape_of(op.operand)
        self._shifts_along = shard_shifts_of(op)
        self._exchange_along = exchange_of(op)
        self._alike = [each for use in op.operand.uses if isinstance(each := use.operation, ops.SliceOp)]

    def exchange(self, lowering: Lowering) -> DeviceShifts:
        """Replace the operand by one that includes the required elements of other shards.

        Returns by how much each device then moves its elements along each dim.
        """
        op, value = self._op, self._op.operand
        mesh = lowering.shardings.mesh_of(value).mesh
        shifts: DeviceShifts = []
        for dim in range(len(shape_of(value))):
            axes = lowering.shardings.dim_axes(op.operand, dim)
            count = sharded_size(axes, mesh)
            shard_shifts = self._shifts_along(dim, count)
            if shard_shifts is None:
                value = self._exchanged(lowering, value, ShardedDim(dim, axes, mesh), count)
                shard_shifts = (0,) * count
            shifts.append(tuple(shard_shifts[index] for index in shard_coordinates(axes, mesh)))
        op.operands[0] = value
        return shifts

    def _exchanged(self, lowering: Lowering, value: SSAValue, sharded: ShardedDim, count: int) -> SSAValue:
        op, emit = self._op, lowering.emitter(self._op)
        if isinstance(op, ops.SliceOp):
            if op not in lowering.received:
                plans = self._plans_of_parts(op, sharded.dim, count)
                available = RegroupingEmitter(emit, sharded).available(value, list(plans.values())) if plans else value
                lowering.received |= {each: (available, plan) for each, plan in plans.items()}
            if op in lowering.received:
                return RegroupingEmitter(emit, sharded).assembled(*lowering.received.pop(op))
        plan = self._exchange_along(sharded.dim, count)
        assert plan is not None  # checked
        filler = op.padding_value if isinstance(op, ops.PadOp) and not is_zero_constant(op.padding_value) else None
        if isinstance(plan, Regrouping):
            emitter = RegroupingEmitter(emit, sharded, filler)
            return emitter.assembled(emitter.available(value, [plan]), plan)
        return exchanged(emit, value, sharded, plan, filler)

    def _plans_of_parts(self, op: ops.SliceOp, dim: int, count: int) -> dict[ops.SliceOp, Regrouping]:
        """Return plans of slices of one value, `op` among them, that share permutes if devices then receive less."""
        parts: dict[ops.SliceOp, tuple[int, int]] = {}
        shard, end = self._shape[dim] // count, 0
        for each in sorted(self._alike, key=lambda each: ints_of(each.start_indices)[dim]):
            if each.parent is not op.parent or not _shortens_only(each, dim, self._shape):
                continue  # in another block, or lowered already
            start, size = ints_of(each.start_indices)[dim], shape_of(each.result)[dim]
            if start >= end and not size % count and slice_shifts(start, 1, shard, size // count, count) is None:
                parts[each], end = (-start, size // count), start + size
        if op not in parts or len(parts) == 1:
            return {}
        plans = moving_parts(tuple(parts.values()), shard, count)
        apart = sum(cheapest_exchange(moved, shard, size, count).received for moved, size in parts.values())
        return dict(zip(parts, plans, strict=True)) if plans[0].received < apart else {}


def _shortens_only(op: ops.SliceOp, dim: int, shape: Sequence[int]) -> bool:
    """Return whether a slice, of a value of this shape, takes consecutive elements along `dim` and all along others."""
    pairs = zip(shape_of(op.result), shape, strict=True)
    return ints_of(op.strides)[dim] == 1 and all(own == size for at, (own, size) in enumerate(pairs) if at != dim)


@FORMS.of(ops.SliceOp)
def slice_(op: ops.SliceOp) -> LocalForm:
    """Emit a slice of the shard; if slices of different shards start at different indices, a dynamic slice first."""
    limits, strides, global_shape = ints_of(op.limit_indices), ints_of(op.strides), shape_of(op.operand)
    movement = _ShardMovement(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.shardings.is_sharded(op.operand):
            return
        counts, original = lowering.shardings.shard_counts(op.operand), op.operand
        shifts = movement.exchange(lowering)
        local = cast(AnyTensor, lowering.local_type(op.result.type, lowering.shardings.of(op.result), op))
        emit = lowering.emitter(op)
        extents = [max(0, (size - 1) * stride + 1) for size, stride in zip(local.get_shape(), strides, strict=True)]
        starts = [shift[0] for shift in shifts]
        ends = list(limits)
        for dim, size in enumerate(shape_of(op.operand)):
            if counts[dim] > 1:
                ends[dim] = size if limits[dim] == global_shape[dim] else starts[dim] + extents[dim]
        source: SSAValue = op.operand
        if any(len(set(shift)) > 1 for shift in shifts):
            source = slice_at(emit, source, _own_starts(emit, shifts), extents)
            if extents == list(local.get_shape()):
                lowering.replace(op, source)
                return
            starts, ends = [0] * len(extents), extents
        if source is not original and not any(starts) and shape_of(source) == local.get_shape():
            lowering.replace(op, source)
            return
        lowering.replace(op, emit.slice(source, starts, ends, strides))

    return lower


@FORMS.of(ops.PadOp)
def pad(op: ops.PadOp) -> LocalForm:
    """Emit a pad of the shard; if shards require different amounts, the largest ones and a dynamic slice."""
    movement = _ShardMovement(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.shardings.is_sharded(op.operand):
            return
        original, shifts = op.operand, movement.exchange(lowering)
        local = cast(AnyTensor, lowering.local_type(op.result.type, lowering.shardings.of(op.result), op)).get_shape()
        emit = lowering.emitter(op)
        gaps = ints_of(op.interior_padding)
        dilated = [max(0, (size - 1) * (gap + 1) + 1) for size, gap in zip(shape_of(op.operand), gaps, strict=True)]
        if all(len(set(shift)) == 1 for shift in shifts):
            low = [shift[0] for shift in shifts]
            high = [size - (own + first) for size, own, first in zip(local, dilated, low, strict=True)]
            is_done = op.operand is not original and not any((*low, *high))
            lowering.replace(op, op.operand if is_done else emit.pad(op.operand, op.padding_value, low, high, gaps))
            return
        low = [max(0, *shift) for shift in shifts]
        high = [max(0, size - min(shift) - own) for size, shift, own in zip(local, shifts, dilated, strict=True)]
        padded = emit.pad(op.operand, op.padding_value, low, high, gaps)
        starts = [tuple(first - own_shift for own_shift in shift) for first, shift in zip(low, shifts, strict=True)]
        lowering.replace(op, slice_at(emit, padded, _own_starts(emit, starts), local))

    return lower


def _own_starts(emit: Emitter, starts: DeviceShifts) -> list[SSAValue]:
    """Return the start of this device along each dim: a constant if all devices have the same one."""
    number = device_number(emit)
    return [device_index(emit, table, number) for table in starts]


@FORMS.of(ops.DynamicSliceOp)
@of_shards
def dynamic_slice(op: ops.DynamicSliceOp, lowering: Lowering) -> None:
    """Give the op local slice sizes; it slices the full range of each sharded dim."""
    lowering.make_local(op.result, op)
    op.slice_sizes = ints(shape_of(op.result))
