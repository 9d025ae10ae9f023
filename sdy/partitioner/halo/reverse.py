"""`stablehlo.reverse` along cut dims: shards are reversed where they are, and then read by devices in reverse order.

The padding of a dim that does not divide is at its end; before the op it is moved to the front, so that it ends up at
the end again. Source: docs/spec/06, 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.shape import ReverseOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.model.devices.device_shifts import shift_pairs
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import annotated, padded_to, sliced, zero_scalar
from sdy.partitioner.halo.manual_body import ManualAxes, emit_manual, rounded_up, shard_counts


def reversed_axes(op: ReverseOp, sharding: TensorSharding) -> AxisList:
    """The axes along which the shards of `op` change places."""
    reversed_dims = ints_of(op.dimensions)
    return tuple(ref for dim, own in enumerate(sharding.dims) if dim in reversed_dims for ref in own.axes)


def shifted_operand(op: ReverseOp, sharding: TensorSharding, mesh: Mesh, emit: Emitter) -> SSAValue:
    """The operand of `op` with divisible reversed dims, whose padding is at their front; at the end of other dims."""
    counts, sizes = shard_counts(sharding, mesh), shape_of(op.operand)
    even = rounded_up(sizes, counts)
    to_shift = [dim for dim in range(len(sizes)) if sizes[dim] != even[dim] and dim in ints_of(op.dimensions)]
    if not to_shift:
        return op.operand
    axes = ManualAxes.of((ref for dim in to_shift for ref in sharding.dims[dim].axes), [sharding], mesh)
    touched = [dim for dim, own in enumerate(axes.outside(sharding).dims) if own.axes]
    padded = padded_to(emit, op.operand, zero_scalar(emit, op.operand), _only(even, sizes, touched), sharding)

    def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
        (value,) = arguments
        for dim in to_shift:
            amount = even[dim] - sizes[dim]
            value = _shifted_right(inner, value, dim, amount, (sharding.dims[dim].axes, mesh), axes.inside(sharding))
        return value

    return emit_manual(op, emit, axes, [(padded, sharding)], (shape_of(padded), sharding), body)


def _only(even: Sequence[int], sizes: Sequence[int], dims: Sequence[int]) -> list[int]:
    return [even[dim] if dim in dims else size for dim, size in enumerate(sizes)]


def _shifted_right(
    emit: Emitter, value: SSAValue, dim: int, amount: int, cut: tuple[AxisList, Mesh], sharding: TensorSharding
) -> SSAValue:
    """The shards of a dim whose elements moved `amount` places towards its end; what comes in is zero."""
    sizes = shape_of(value)
    hops, rest = divmod(amount, sizes[dim])
    head, tail = (_received(emit, value, cut, hops=count, sharding=sharding) for count in (hops, hops + 1))
    kept = sizes[dim] - rest
    zeros = [0] * len(sizes)
    from_tail = sliced(emit, tail, _with(zeros, dim, kept), sizes, sharding)
    from_head = sliced(emit, head, zeros, _with(sizes, dim, kept), sharding)
    return annotated(emit.concatenate([from_tail, from_head], dim), sharding)


def _received(
    emit: Emitter, value: SSAValue, cut: tuple[AxisList, Mesh], *, hops: int, sharding: TensorSharding
) -> SSAValue:
    """The shard of the neighbour `hops` places to the left."""
    if hops == 0:
        return value
    pairs = shift_pairs(*cut, hops)
    if not pairs:
        return annotated(emit.broadcast(zero_scalar(emit, value), tensor_of(value)), sharding)
    return annotated(collective_permute(emit, value, pairs), sharding)


def _with(sizes: Sequence[int], dim: int, size: int) -> list[int]:
    return [size if place == dim else own for place, own in enumerate(sizes)]
