"""Parts of tensors on one shard: slices and pads, whose shards may send each other edges; dynamic slices of whole dims.

Source: docs/spec/06, 1.17, 1.18 and 8.1 (G3, G18, G19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import shard_coordinates
from sdy.partitioner.emit.emitter import Emitter, ints, with_shape
from sdy.partitioner.emit.sharded_emitter import is_zero_constant
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.local.spans import CutDim, exchanged
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_offsets import shard_shifts_of
from sdy.partitioner.on_shards.shard_spans import spans_of

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()

Shifts = list[tuple[int, ...]]  # per dim of a tensor, per device


@CHECKS.of(ops.SliceOp, ops.PadOp)
def stays_local(op: ops.SliceOp | ops.PadOp) -> Check:
    """Operand and result are cut alike, and no shard needs elements of another, or few are sent.

    In the reference none are.
    """
    moved_along = shard_shifts_of(op)

    def check(lowering: Lowering) -> None:
        if not (lowering.is_sharded(op.operand) or lowering.is_sharded(op.result)):
            return
        lowering.check_operand_sharding(op, 0, lowering.sharding(op.result), "its result")
        for dim in range(len(shape_of(op.result))):
            count = lowering.shard_count(op.operand, dim)
            is_exchanged = lowering.style.regroups_shards and can_exchange_results(op, dim, count)
            if moved_along(dim, count) is None and not is_exchanged:
                message = (
                    f"{op.name} from {op.operand.type} to {op.result.type} moves elements between the "
                    f"{count} shards of dim {dim}"
                )
                hint = "run sdy-resolve-permutation-factors first, or reshard so that the dim is whole"
                raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))

    return check


class _Moves:
    """How the elements of a slice or pad of whole tensors come to their places: within shards, or between them."""

    def __init__(self, op: ops.SliceOp | ops.PadOp) -> None:
        self._op = op
        self._moved_along = shard_shifts_of(op)
        self._span_along = spans_of(op)

    def exchange(self, lowering: Lowering) -> Shifts:
        """Let the op read what it needs of other shards; by how much devices then move elements along each dim."""
        op, value = self._op, self._op.operand
        sharding = lowering.sharding(value)
        assert sharding is not None  # cut
        mesh = lowering.mesh(sharding)
        filling = op.padding_value if isinstance(op, ops.PadOp) and not is_zero_constant(op.padding_value) else None
        shifts: Shifts = []
        for dim in range(len(shape_of(value))):
            axes = lowering.dim_axes(op.operand, dim)
            count = sharded_size(axes, mesh)
            of_shard = self._moved_along(dim, count)
            if of_shard is None:
                span = self._span_along(dim, count)
                assert span is not None  # checked
                value = exchanged(lowering.emitter(op), value, CutDim(dim, axes, mesh), span, filling)
                of_shard = (0,) * count
            shifts.append(tuple(of_shard[place] for place in shard_coordinates(axes, mesh)))
        op.operands[0] = value
        return shifts


@FORMS.of(ops.SliceOp)
def slice_(op: ops.SliceOp) -> LocalForm:
    """A slice of the shard; where shards begin at different places, of the part that this device's slice spans."""
    limits, strides, whole = ints_of(op.limit_indices), ints_of(op.strides), shape_of(op.operand)
    moves = _Moves(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.is_sharded(op.operand):
            return
        counts, given = [lowering.shard_count(op.operand, dim) for dim in range(len(whole))], op.operand
        shifts = moves.exchange(lowering)
        local = cast(AnyTensor, lowering.local_type(op.result.type, lowering.sharding(op.result), op))
        emit = lowering.emitter(op)
        spans = [max(0, (size - 1) * stride + 1) for size, stride in zip(local.get_shape(), strides, strict=True)]
        starts = [shift[0] for shift in shifts]
        ends = list(limits)
        for dim, size in enumerate(shape_of(op.operand)):
            if counts[dim] > 1:
                ends[dim] = size if limits[dim] == whole[dim] else starts[dim] + spans[dim]
        source: SSAValue = op.operand
        if any(len(set(shift)) > 1 for shift in shifts):
            source = emit.dynamic_slice(source, _own_starts(emit, shifts), spans)
            if spans == list(local.get_shape()):
                lowering.replace(op, source)
                return
            starts, ends = [0] * len(spans), spans
        if source is not given and not any(starts) and shape_of(source) == local.get_shape():
            lowering.replace(op, source)
            return
        properties = {"start_indices": ints(starts), "limit_indices": ints(ends), "strides": op.strides}
        lowering.replace(op, emit.value(ops.SliceOp, [source], local, dict(properties)))

    return lower


@FORMS.of(ops.PadOp)
def pad(op: ops.PadOp) -> LocalForm:
    """A pad of the shard; where shards need different ones, one large enough for all, of which each takes its part."""
    moves = _Moves(op)

    def lower(lowering: Lowering) -> None:
        if not lowering.is_sharded(op.operand):
            return
        given, shifts = op.operand, moves.exchange(lowering)
        local = cast(AnyTensor, lowering.local_type(op.result.type, lowering.sharding(op.result), op)).get_shape()
        emit = lowering.emitter(op)
        gaps = ints_of(op.interior_padding)
        spread = [max(0, (size - 1) * (gap + 1) + 1) for size, gap in zip(shape_of(op.operand), gaps, strict=True)]
        is_uniform = all(len(set(shift)) == 1 for shift in shifts)
        if is_uniform:
            low = [shift[0] for shift in shifts]
            high = [size - (own + first) for size, own, first in zip(local, spread, low, strict=True)]
            is_there = op.operand is not given and not any((*low, *high))
            lowering.replace(op, op.operand if is_there else _padded(emit, op, low, high, spread))
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
