"""Parts of tensors on one shard: slices and pads that stay within each shard, dynamic slices of whole dims.

Source: spec of local lowering, sections 1.17, 1.18 and 8.1 (G3, G18, G19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.op_table import OpTable
from sdy.dialects.places import span_of
from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.clauses import ints_of
from sdy.model.tiling import shard_coordinates
from sdy.partitioner.local.emitter import Emitter, Tensor, ints, shape_of, with_shape
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.shard_moves import MoveAlong, moves_of

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()

Shifts = list[tuple[int, ...]]  # per dim of a tensor, per device


@CHECKS.of(ops.SliceOp, ops.PadOp)
def stays_local(op: ops.SliceOp | ops.PadOp) -> Check:
    """Operand and result are cut alike, and no shard needs elements of another."""
    moved_along = moves_of(op)

    def check(lowering: Lowering) -> None:
        if not (lowering.is_cut(op.operand) or lowering.is_cut(op.result)):
            return
        lowering.check_handed_over(op, 0, lowering.sharding(op.result), "its result")
        for dim in range(len(shape_of(op.result))):
            if moved_along(dim, lowering.shard_count(op.operand, dim)) is None:
                message = (
                    f"{op.name} from {op.operand.type} to {op.result.type} moves elements between the "
                    f"{lowering.shard_count(op.operand, dim)} shards of dim {dim}"
                )
                hint = "run sdy-resolve-permutation-factors first, or reshard so that the dim is whole"
                raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))

    return check


def _shifts_of_devices(operand: SSAValue, moved_along: MoveAlong, lowering: Lowering) -> Shifts:
    sharding = lowering.sharding(operand)
    assert sharding is not None  # cut
    mesh = lowering.mesh(sharding)
    shifts: Shifts = []
    for dim in range(len(shape_of(operand))):
        of_shard = moved_along(dim, lowering.shard_count(operand, dim))
        assert of_shard is not None  # checked
        shifts.append(tuple(of_shard[place] for place in shard_coordinates(lowering.dim_axes(operand, dim), mesh)))
    return shifts


@FORMS.of(ops.SliceOp)
def slice_(op: ops.SliceOp) -> LocalForm:
    """A slice of the shard; where shards begin at different places, of the part that this device's slice spans."""
    limits, strides, whole = ints_of(op.limit_indices), ints_of(op.strides), shape_of(op.operand)
    moved_along = moves_of(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.is_cut(op.operand):
            return
        shifts = _shifts_of_devices(op.operand, moved_along, lowering)
        local = cast(Tensor, lowering.local_type(op.result.type, lowering.sharding(op.result), op))
        emit = lowering.emitter(op)
        spans = [max(0, (size - 1) * stride + 1) for size, stride in zip(local.get_shape(), strides, strict=True)]
        starts = [shift[0] for shift in shifts]
        ends = list(limits)
        for dim, size in enumerate(shape_of(op.operand)):
            if lowering.shard_count(op.operand, dim) > 1:
                ends[dim] = size if limits[dim] == whole[dim] else starts[dim] + spans[dim]
        source: SSAValue = op.operand
        if any(len(set(shift)) > 1 for shift in shifts):
            source = emit.dynamic_slice(source, _own_starts(emit, shifts), spans)
            if spans == list(local.get_shape()):
                lowering.replace(op, source)
                return
            starts, ends = [0] * len(spans), spans
        properties = {"start_indices": ints(starts), "limit_indices": ints(ends), "strides": op.strides}
        lowering.replace(op, emit.value(ops.SliceOp, [source], local, dict(properties)))

    return lower


@FORMS.of(ops.PadOp)
def pad(op: ops.PadOp) -> LocalForm:
    """A pad of the shard; where shards need different ones, one large enough for all, of which each takes its part."""
    moved_along = moves_of(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.is_cut(op.operand):
            return
        shifts = _shifts_of_devices(op.operand, moved_along, lowering)
        local = cast(Tensor, lowering.local_type(op.result.type, lowering.sharding(op.result), op)).get_shape()
        emit = lowering.emitter(op)
        gaps = ints_of(op.interior_padding)
        spread = [max(0, (size - 1) * (gap + 1) + 1) for size, gap in zip(shape_of(op.operand), gaps, strict=True)]
        is_uniform = all(len(set(shift)) == 1 for shift in shifts)
        if is_uniform:
            low = [shift[0] for shift in shifts]
            high = [size - (own + first) for size, own, first in zip(local, spread, low, strict=True)]
            lowering.replace(op, _padded(emit, op, low, high, spread))
            return
        low = [max(0, *shift) for shift in shifts]
        high = [max(0, size - min(shift) - own) for size, shift, own in zip(local, shifts, spread, strict=True)]
        padded = _padded(emit, op, low, high, spread)
        starts = [tuple(first - place for place in shift) for first, shift in zip(low, shifts, strict=True)]
        lowering.replace(op, emit.dynamic_slice(padded, _own_starts(emit, starts), local))

    return lower


def _padded(emit: Emitter, op: ops.PadOp, low: Sequence[int], high: Sequence[int], spread: Sequence[int]) -> SSAValue:
    """The shard padded like `op`, but by other amounts at its ends; `spread` are its sizes with interior padding."""
    sizes = [before + size + after for before, size, after in zip(low, spread, high, strict=True)]
    properties = {
        "edge_padding_low": ints(low),
        "edge_padding_high": ints(high),
        "interior_padding": op.interior_padding,
    }
    return emit.value(ops.PadOp, [op.operand, op.padding_value], with_shape(op.operand, sizes), dict(properties))


def _own_starts(emit: Emitter, starts: Shifts) -> list[SSAValue]:
    """This device's start along each dim; a constant where it is the same on all."""
    number = emit.device_number()
    return [
        emit.index(table[0]) if len(set(table)) == 1 else emit.reshape(emit.entry_of_device(table, i64, number), [])
        for table in starts
    ]


@FORMS.of(ops.DynamicSliceOp)
def dynamic_slice(op: ops.DynamicSliceOp) -> LocalForm:
    """A slice that takes all of each dim that is cut."""

    def lower(lowering: Lowering) -> None:
        lowering.make_local(op.result, op)
        op.slice_sizes = ints(shape_of(op.result))

    return lower
