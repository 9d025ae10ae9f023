"""Rewrite of `stablehlo.reverse` along sharded dims: each shard is reversed, then assigned to devices in reverse order.

The padding of an uneven dim is at its end. It is moved to the front before the op, so that it is at the end after it.
Source: docs/spec/06, 3.6.
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
from sdy.upstream.halo.manual_body import ManualAxes, emit_manual, rounded_up, shard_counts


def reversed_axes(op: ReverseOp, sharding: TensorSharding) -> AxisList:
    """Return the axes along which the op reverses the order of shards."""
    reversed_dims = ints_of(op.dimensions)
    return tuple(ref for dim, own in enumerate(sharding.dims) if dim in reversed_dims for ref in own.axes)


def shifted_operand(op: ReverseOp, sharding: TensorSharding, mesh: Mesh, emit: Emitter) -> SSAValue:
    """Return the operand of `op` with even shards: padded at the front of reversed dims and at the end of others."""
    counts, sizes = shard_counts(sharding, mesh), shape_of(op.operand)
    even = rounded_up(sizes, counts)
    to_shift = [dim for dim in range(len(sizes)) if sizes[dim] != even[dim] and dim in ints_of(op.dimensions)]
    if not to_shift:
        return op.operand
    axes = ManualAxes.of((ref for dim in to_shift for ref in sharding.dims[dim].axes), [sharding], mesh)
    padded_dims = [dim for dim, own in enumerate(axes.outside(sharding).dims) if own.axes]
    padded = padded_to(emit, op.operand, zero_scalar(emit, op.operand), _only(even, sizes, padded_dims), sharding)

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
    emit: Emitter, value: SSAValue, dim: int, amount: int, axes_on_mesh: tuple[AxisList, Mesh], sharding: TensorSharding
) -> SSAValue:
    """Shift the elements of a sharded dim by `amount` towards its end, filling with zeros."""
    sizes = shape_of(value)
    hops, rest = divmod(amount, sizes[dim])
    head, tail = (_received(emit, value, axes_on_mesh, hops=count, sharding=sharding) for count in (hops, hops + 1))
    kept = sizes[dim] - rest
    zeros = [0] * len(sizes)
    from_tail = sliced(emit, tail, _with(zeros, dim, kept), sizes, sharding)
    from_head = sliced(emit, head, zeros, _with(sizes, dim, kept), sharding)
    return annotated(emit.concatenate([from_tail, from_head], dim), sharding)


def _received(
    emit: Emitter, value: SSAValue, axes_on_mesh: tuple[AxisList, Mesh], *, hops: int, sharding: TensorSharding
) -> SSAValue:
    """Return the shard that is `hops` shards to the left, zeros if there is none."""
    if hops == 0:
        return value
    pairs = shift_pairs(*axes_on_mesh, hops)
    if not pairs:
        return annotated(emit.broadcast(zero_scalar(emit, value), tensor_of(value)), sharding)
    return annotated(collective_permute(emit, value, pairs), sharding)


def _with(sizes: Sequence[int], dim: int, size: int) -> list[int]:
    return [size if index == dim else own for index, own in enumerate(sizes)]
