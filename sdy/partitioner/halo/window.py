"""`stablehlo.pad` and `stablehlo.slice` whose shards need elements of their neighbours.

Source: docs/spec/06, 3.3, 3.4 and 8.3 (G60 to G63).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import is_dynamic, shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter
from sdy.partitioner.emit.sharded_emitter import padded_to, padded_with_interior, sliced, trimmed_to, zero_scalar
from sdy.partitioner.halo.emit_exchange import make_exchanger
from sdy.partitioner.halo.manual_body import ManualAxes, emit_manual, rounded_up, scalar_sharding, shard_counts
from sdy.partitioner.halo.plan import DimExchange, Placement, dim_exchange


def exchanged_window(op: PadOp | SliceOp, mesh: Mesh, emit: Emitter) -> SSAValue | None:
    """The result of `op`, computed by an exchange; None where that would not pay.

    The operand and the result must be cut alike.
    """
    sharding = sharding_of(op.operand)
    assert sharding is not None  # an op that needs communication is on a cut operand
    plans = window_plans(op, sharding, mesh)
    if plans is None or any(plan.is_too_far for plan in plans):
        return None
    counts = shard_counts(sharding, mesh)
    before, after = (rounded_up(shape_of(value), counts) for value in (op.operand, op.result))
    operand, filler = _evened(op, before, sharding, emit)
    axes = ManualAxes.of((ref for dim in sharding.dims for ref in dim.axes), [sharding], mesh)
    inside = axes.inside(sharding)

    def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
        value, inner_filler = arguments
        exchanger = make_exchanger(inner, mesh, inside, inner_filler, filler)
        for plan in plans:
            value = exchanger.exchanged(value, plan)
        return _whole_dims_done(op, value, inner_filler, counts, inside, inner)

    operands = [(operand, sharding), (filler, scalar_sharding(sharding))]
    result = emit_manual(op, emit, axes, operands, (after, sharding), body)
    sizes = shape_of(op.result)
    return result if tuple(after) == tuple(sizes) else trimmed_to(emit, result, sizes, sharding)


def placement(op: PadOp | SliceOp, dim: int) -> Placement | None:
    """Where the elements of a dim go; None for a slice with a stride or a dim of unknown size."""
    size = shape_of(op.result)[dim]
    if is_dynamic(size) or is_dynamic(shape_of(op.operand)[dim]):
        return None
    if isinstance(op, SliceOp):
        is_dense = ints_of(op.strides)[dim] == 1
        return Placement(-ints_of(op.start_indices)[dim], 1, size) if is_dense else None
    return Placement(ints_of(op.edge_padding_low)[dim], ints_of(op.interior_padding)[dim] + 1, size)


def window_plans(op: PadOp | SliceOp, sharding: TensorSharding, mesh: Mesh) -> list[DimExchange] | None:
    """What to do along each cut dim that changes; nothing where no shard needs elements of another one.

    None where a cut dim has a stride or no known size: that no exchange can do.
    """
    plans: list[DimExchange] = []
    is_any_needed = False
    for dim, (own, count) in enumerate(zip(sharding.dims, shard_counts(sharding, mesh), strict=True)):
        if count == 1:
            continue
        target = placement(op, dim)
        if target is None:
            return None
        plan, is_needed = dim_exchange(dim, own.axes, count, shape_of(op.operand)[dim], target)
        is_any_needed |= is_needed
        if is_needed or target.low or target.step > 1 or plan.shard != plan.part:
            plans.append(plan)
    return plans if is_any_needed else []


def _evened(
    op: PadOp | SliceOp, sizes: Sequence[int], sharding: TensorSharding, emit: Emitter
) -> tuple[SSAValue, SSAValue]:
    """The operand with dims that divide, and what positions hold that no element gets to."""
    is_even = tuple(sizes) == tuple(shape_of(op.operand))
    if isinstance(op, PadOp):
        filler = op.padding_value
        return (op.operand if is_even else padded_to(emit, op.operand, filler, sizes, sharding)), filler
    operand = op.operand if is_even else padded_to(emit, op.operand, zero_scalar(emit, op.operand), sizes, sharding)
    return operand, zero_scalar(emit, operand)


def _whole_dims_done(
    op: PadOp | SliceOp, value: SSAValue, filler: SSAValue, counts: Sequence[int], inside: TensorSharding, emit: Emitter
) -> SSAValue:
    """What the op does along the dims that are not cut."""
    if isinstance(op, PadOp):
        amounts = [_only_whole(ints_of(each), counts) for each in (op.edge_padding_low, op.edge_padding_high)]
        interior = _only_whole(ints_of(op.interior_padding), counts)
        if not any((*amounts[0], *amounts[1], *interior)):
            return value
        return padded_with_interior(emit, value, filler, amounts[0], amounts[1], interior, inside)
    ranges = zip(ints_of(op.start_indices), ints_of(op.limit_indices), ints_of(op.strides), strict=True)
    chosen = [
        each if count == 1 else (0, size, 1) for each, count, size in zip(ranges, counts, shape_of(value), strict=True)
    ]
    if chosen == [(0, size, 1) for size in shape_of(value)]:
        return value
    starts, limits, strides = ([part[place] for part in chosen] for place in range(3))
    return sliced(emit, value, starts, limits, inside, strides)


def _only_whole(amounts: Sequence[int], counts: Sequence[int]) -> list[int]:
    return [amount if count == 1 else 0 for amount, count in zip(amounts, counts, strict=True)]
