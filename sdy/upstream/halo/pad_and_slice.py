"""Exchange for `stablehlo.pad` and `stablehlo.slice` ops whose shards require elements of neighbors.

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
from sdy.upstream.halo.emit_exchange import make_exchanger
from sdy.upstream.halo.manual_body import ManualAxes, emit_manual, rounded_up, scalar_sharding, shard_counts
from sdy.upstream.halo.plan import DimExchange, StridedPlacement, dim_exchange


def exchanged_window(op: PadOp | SliceOp, mesh: Mesh, emit: Emitter) -> SSAValue | None:
    """Emit `op` as an exchange and return its result, None if an all-gather costs no more.

    Operand and result must be sharded alike.
    """
    sharding = sharding_of(op.operand)
    assert sharding is not None  # an op that requires communication has a sharded operand
    plans = window_plans(op, sharding, mesh)
    if plans is None or any(plan.is_too_far for plan in plans):
        return None
    counts = shard_counts(sharding, mesh)
    before, after = (rounded_up(shape_of(value), counts) for value in (op.operand, op.result))
    operand, filler = _padded_operand(op, before, sharding, emit)
    axes = ManualAxes.of((ref for dim in sharding.dims for ref in dim.axes), [sharding], mesh)
    inside = axes.inside(sharding)

    def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
        value, inner_filler = arguments
        exchanger = make_exchanger(inner, mesh, inside, inner_filler, filler)
        for plan in plans:
            value = exchanger.exchanged(value, plan)
        return _applied_to_unsharded_dims(op, value, inner_filler, counts, inside, inner)

    operands = [(operand, sharding), (filler, scalar_sharding(sharding))]
    result = emit_manual(op, emit, axes, operands, (after, sharding), body)
    sizes = shape_of(op.result)
    return result if tuple(after) == tuple(sizes) else trimmed_to(emit, result, sizes, sharding)


def dim_placement(op: PadOp | SliceOp, dim: int) -> StridedPlacement | None:
    """Return the map of the elements of a dim, None for a slice with a stride or a dim of unknown size."""
    size = shape_of(op.result)[dim]
    if is_dynamic(size) or is_dynamic(shape_of(op.operand)[dim]):
        return None
    if isinstance(op, SliceOp):
        is_dense = ints_of(op.strides)[dim] == 1
        return StridedPlacement(-ints_of(op.start_indices)[dim], 1, size) if is_dense else None
    return StridedPlacement(ints_of(op.edge_padding_low)[dim], ints_of(op.interior_padding)[dim] + 1, size)


def window_plans(op: PadOp | SliceOp, sharding: TensorSharding, mesh: Mesh) -> list[DimExchange] | None:
    """Return one exchange for each sharded dim that changes; an empty list if no shard requires elements of another.

    Returns None if a sharded dim has a stride or an unknown size, which no halo exchange supports.
    """
    plans: list[DimExchange] = []
    is_any_needed = False
    for dim, (own, count) in enumerate(zip(sharding.dims, shard_counts(sharding, mesh), strict=True)):
        if count == 1:
            continue
        target = dim_placement(op, dim)
        if target is None:
            return None
        plan, is_needed = dim_exchange(dim, own.axes, count, shape_of(op.operand)[dim], target)
        is_any_needed |= is_needed
        if is_needed or target.low or target.step > 1 or plan.shard != plan.part:
            plans.append(plan)
    return plans if is_any_needed else []


def _padded_operand(
    op: PadOp | SliceOp, sizes: Sequence[int], sharding: TensorSharding, emit: Emitter
) -> tuple[SSAValue, SSAValue]:
    """Return the operand padded to `sizes`, and the value of positions without an element."""
    is_even = tuple(sizes) == tuple(shape_of(op.operand))
    if isinstance(op, PadOp):
        filler = op.padding_value
        return (op.operand if is_even else padded_to(emit, op.operand, filler, sizes, sharding)), filler
    operand = op.operand if is_even else padded_to(emit, op.operand, zero_scalar(emit, op.operand), sizes, sharding)
    return operand, zero_scalar(emit, operand)


def _applied_to_unsharded_dims(
    op: PadOp | SliceOp, value: SSAValue, filler: SSAValue, counts: Sequence[int], inside: TensorSharding, emit: Emitter
) -> SSAValue:
    """Apply `op` along its unsharded dims."""
    if isinstance(op, PadOp):
        amounts = [_along_unsharded(ints_of(each), counts) for each in (op.edge_padding_low, op.edge_padding_high)]
        interior = _along_unsharded(ints_of(op.interior_padding), counts)
        if not any((*amounts[0], *amounts[1], *interior)):
            return value
        return padded_with_interior(emit, value, filler, amounts[0], amounts[1], interior, inside)
    ranges = zip(ints_of(op.start_indices), ints_of(op.limit_indices), ints_of(op.strides), strict=True)
    chosen = [
        each if count == 1 else (0, size, 1) for each, count, size in zip(ranges, counts, shape_of(value), strict=True)
    ]
    if chosen == [(0, size, 1) for size in shape_of(value)]:
        return value
    starts, limits, strides = ([bounds[index] for bounds in chosen] for index in range(3))
    return sliced(emit, value, starts, limits, inside, strides)


def _along_unsharded(amounts: Sequence[int], counts: Sequence[int]) -> list[int]:
    return [amount if count == 1 else 0 for amount, count in zip(amounts, counts, strict=True)]
