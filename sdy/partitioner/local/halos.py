"""Emission of halos: the elements of neighboring shards that the windows of a shard require."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.model.axis import AxisList
from sdy.model.devices.device_shifts import shift_pairs
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import is_first_device, is_last_device
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.on_shards.shard_windows import Halo

IsAtEnd = Callable[[Emitter, AxisList, Mesh, AnyTensor], SSAValue]


def with_halos(
    emit: Emitter,
    value: SSAValue,
    halos: Sequence[tuple[int, Halo]],
    sharding: TensorSharding,
    mesh: Mesh,
    filler: SSAValue | None = None,
) -> SSAValue:
    """Return the shard `value` with its halos along some dims.

    A device without a neighbor has the scalar `filler` instead, or zeros if there is none. Dims are extended one after
    the other, so that the halo of a later dim includes the corners.
    """
    for dim, halo in halos:
        axes, size = sharding.dims[dim].axes, shape_of(value)[dim]
        parts = [slice_along(emit, value, dim, max(0, -halo.left), size - max(0, -halo.right))]
        if halo.left > 0:
            edge = slice_along(emit, value, dim, size - halo.left, size)
            received = collective_permute(emit, edge, shift_pairs(axes, mesh, 1))
            parts.insert(0, _filled(emit, received, filler, is_first_device, axes, mesh))
        if halo.right > 0:
            edge = slice_along(emit, value, dim, 0, halo.right)
            received = collective_permute(emit, edge, shift_pairs(axes, mesh, -1))
            parts.append(_filled(emit, received, filler, is_last_device, axes, mesh))
        value = emit.concatenate(parts, dim) if len(parts) > 1 else parts[0]
    return value


def _filled(
    emit: Emitter, received: SSAValue, filler: SSAValue | None, is_at_end: IsAtEnd, axes: AxisList, mesh: Mesh
) -> SSAValue:
    if filler is None:
        return received
    tensor = tensor_of(received)
    return emit.select(is_at_end(emit, axes, mesh, tensor), emit.broadcast(filler, tensor), received)
