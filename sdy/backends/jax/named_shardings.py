"""Tensor shardings as JAX's `NamedSharding`s. Sub-axes, which JAX does not have, are axes of a split mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.axis import AxisList
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.split_mesh import names_on_split_mesh, split_mesh
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


def named_sharding(
    place: TensorPlacement, devices: Sequence[object], axis_types: Mapping[str, object]
) -> NamedSharding:
    """The sharding on a mesh of `devices`, or on an abstract one where there are none.

    The mesh is split only where the sharding cuts an axis. Its axes have the types given by name; those along which the
    value is unreduced are explicit ones, as JAX wants it.
    Raises: SdyError SDY-X104 where there are too few devices.
    """
    mesh, digits = split_mesh(place.mesh, place.sharding.axis_refs())
    spec = partition_spec(place.sharding, digits)
    names, sizes = _names(mesh), tuple(axis.size for axis in mesh.axes)
    types = tuple(_type(name, spec, axis_types) for name in names)
    if not devices:
        return NamedSharding(AbstractMesh(sizes, names, axis_types=types), spec)
    return NamedSharding(jax.sharding.Mesh(_placed(mesh, devices), names, axis_types=types), spec)


def partition_spec(sharding: TensorSharding, digits: AxisList) -> PartitionSpec:
    """The spec on a split mesh with the axes `digits`; trailing dims that are whole are left out."""
    dims = [tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in sharding.dims]
    while dims and not dims[-1]:
        dims.pop()
    entries = [None if not names else names[0] if len(names) == 1 else names for names in dims]
    unreduced = frozenset(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return PartitionSpec(*entries, unreduced=unreduced)


def jax_mesh(mesh: Mesh, devices: Sequence[object]) -> jax.sharding.Mesh:
    """The mesh of `devices`, JAX's first ones where none are given.

    Raises: SdyError SDY-X104 where there are too few.
    """
    return jax.sharding.Mesh(_placed(mesh, devices or cast(Sequence[object], jax.devices())), _names(mesh))


def _type(name: str, spec: PartitionSpec, axis_types: Mapping[str, object]) -> AxisType:
    known = axis_types.get(name)
    if name in spec.unreduced or not isinstance(known, AxisType):
        return AxisType.Explicit if name in spec.unreduced else AxisType.Auto
    return known


def _names(mesh: Mesh) -> tuple[str, ...]:
    return tuple(axis.name for axis in mesh.axes)


def _placed(mesh: Mesh, devices: Sequence[object]) -> np.ndarray:
    """The devices in the shape of the mesh: device number `n` at the place of `n`."""
    numbers = mesh.devices()
    if max(numbers) >= len(devices):
        message = f"the program runs on {mesh.device_count} devices, JAX has {len(devices)}"
        hint = "XLA_FLAGS=--xla_force_host_platform_device_count=N gives N devices on a CPU"
        raise SdyError(Diagnostic("SDY-X104", message, hint=hint))
    placed = np.array([devices[number] for number in numbers], dtype=object)
    return placed.reshape([axis.size for axis in mesh.axes])
