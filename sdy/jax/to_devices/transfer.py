"""Moves arrays between meshes of JAX devices, also where no process has the devices of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

_SIDE = "source and target"  # the axis of both meshes together


def transferred(array: jax.Array, target: NamedSharding) -> jax.Array:
    """Return an array with a sharding, which may be on other devices. If there are several processes, all call this.

    `device_put` cannot reach the devices of other processes on every platform. There the array takes its new sharding
    on its own mesh, and then a collective-permute sends each shard to the device at the same position.
    Raises: SdyError SDY-X104 if there are several processes, and the meshes differ in size or share some devices.
    """
    source = array.sharding
    if jax.process_count() == 1 or source.device_set == target.device_set or not isinstance(source, NamedSharding):
        return jax.device_put(array, target)
    align, on_both, send = _steps(source, target)
    shards = [shard.data[None] for shard in align(array).addressable_shards]
    unsent = np.zeros((1, *target.shard_shape(array.shape)), array.dtype)
    shards += [jax.device_put(unsent, device) for device in cast("set[Any]", target.addressable_devices)]
    make = partial(jax.make_array_from_single_device_arrays, dtype=array.dtype)
    sent = send(make((2, *array.shape), on_both, shards))
    received = [shard.data[0] for shard in sent.addressable_shards if shard.device in target.device_set]
    return make(array.shape, target, received)


_Step = Callable[[jax.Array], jax.Array]


@cache  # JAX compiles each function once
def _steps(source: NamedSharding, target: NamedSharding) -> tuple[_Step, NamedSharding, _Step]:
    """Return a reshard on the mesh of the source, the sharding on both meshes, and the sends between them."""
    mesh: Any = target.mesh
    if source.num_devices != target.num_devices or source.device_set & target.device_set:
        message = f"several processes cannot move a value from {source.mesh} to {mesh}"
        hint = "use meshes of equal size without common devices, or one process"
        raise SdyError(Diagnostic("SDY-X104", message, hint=hint))
    devices = cast(Any, source.mesh).devices.reshape(mesh.devices.shape)
    aligned = NamedSharding(Mesh(devices, mesh.axis_names, axis_types=mesh.axis_types), target.spec)
    both = Mesh(np.stack([devices, mesh.devices]), (_SIDE, *mesh.axis_names))
    spec = PartitionSpec(_SIDE, *target.spec)
    send = partial(lax.ppermute, axis_name=_SIDE, perm=[(0, 1)])
    mapped = jax.shard_map(send, mesh=both, in_specs=spec, out_specs=spec, check_vma=False)
    return jax.jit(_same, out_shardings=aligned), NamedSharding(both, spec), cast(_Step, jax.jit(mapped))


def _same(array: jax.Array) -> jax.Array:
    return array
