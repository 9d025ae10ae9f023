"""Converts tensor shardings to JAX `NamedSharding`s. JAX has no sub-axes, so they become axes of a split mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.axis import AxisList
from sdy.model.devices.common_mesh import names_on_split_mesh, split_mesh
from sdy.model.devices.placement import TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


def named_sharding(
    placement: TensorPlacement, devices: Sequence[object], axis_types: Mapping[str, object]
) -> NamedSharding:
    """Return the sharding on a mesh of `devices`, or on an abstract mesh if there are none.

    Only axes with sub-axes in the sharding are split. `axis_types` maps axis names to JAX axis types. Axes along
    which the value is unreduced are always explicit, as JAX requires.
    Raises: SdyError SDY-X104 if there are too few devices.
    """
    mesh, digits = split_mesh(placement.mesh, placement.sharding.axis_refs())
    spec = partition_spec(placement.sharding, digits)
    names, sizes = _names(mesh), tuple(axis.size for axis in mesh.axes)
    types = tuple(_type(name, spec, axis_types) for name in names)
    if not devices:
        return NamedSharding(AbstractMesh(sizes, names, axis_types=types), spec)
    return NamedSharding(jax.sharding.Mesh(_device_array(mesh, devices), names, axis_types=types), spec)


def partition_spec(sharding: TensorSharding, digits: AxisList) -> PartitionSpec:
    """Return the spec on a split mesh with the axes `digits`, without trailing unsharded dims."""
    dims = [tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in sharding.dims]
    while dims and not dims[-1]:
        dims.pop()
    entries = [None if not names else names[0] if len(names) == 1 else names for names in dims]
    unreduced = frozenset(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return PartitionSpec(*entries, unreduced=unreduced)


def jax_mesh(mesh: Mesh, devices: Sequence[object]) -> jax.sharding.Mesh:
    """Return the JAX mesh of `devices`, or of the first JAX devices if `devices` is empty.

    Raises: SdyError SDY-X104 if there are too few devices.
    """
    return jax.sharding.Mesh(_device_array(mesh, devices or cast(Sequence[object], jax.devices())), _names(mesh))


def _type(name: str, spec: PartitionSpec, axis_types: Mapping[str, object]) -> AxisType:
    known = axis_types.get(name)
    if name in spec.unreduced or not isinstance(known, AxisType):
        return AxisType.Explicit if name in spec.unreduced else AxisType.Auto
    return known


def _names(mesh: Mesh) -> tuple[str, ...]:
    return tuple(axis.name for axis in mesh.axes)


def _device_array(mesh: Mesh, devices: Sequence[object]) -> np.ndarray:
    """Return the devices in the shape of the mesh, with `devices[n]` at the position of device id `n`."""
    numbers = mesh.devices()
    if max(numbers) >= len(devices):
        message = f"expected {mesh.device_count} devices for the program, got {len(devices)} from JAX"
        hint = "set XLA_FLAGS=--xla_force_host_platform_device_count=N to simulate N devices on a CPU"
        raise SdyError(Diagnostic("SDY-X104", message, hint=hint))
    array = np.array([devices[number] for number in numbers], dtype=object)
    return array.reshape([axis.size for axis in mesh.axes])
