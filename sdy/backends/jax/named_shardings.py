"""Tensor shardings as JAX's `NamedSharding`s. Sub-axes, which JAX does not have, are axes of a split mesh."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import cast

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.model.placement import Placement
from sdy.model.sharding import TensorSharding
from sdy.model.split_mesh import names_on_split_mesh, split_mesh


def named_sharding(place: Placement, devices: Sequence[object]) -> NamedSharding:
    """The sharding on a mesh of `devices`, JAX's first ones where none are given; split only where it cuts an axis.

    Raises: SdyError SDY-X104 where there are too few devices.
    """
    mesh, digits = split_mesh(place.mesh, place.sharding.axis_refs())
    spec = partition_spec(place.sharding, digits)
    return NamedSharding(jax_mesh(mesh, devices, explicit=spec.unreduced), spec)


def partition_spec(sharding: TensorSharding, digits: AxisList) -> PartitionSpec:
    """The spec on a split mesh with the axes `digits`; trailing dims that are whole are left out."""
    dims = [tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in sharding.dims]
    while dims and not dims[-1]:
        dims.pop()
    entries = [None if not names else names[0] if len(names) == 1 else names for names in dims]
    unreduced = frozenset(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return PartitionSpec(*entries, unreduced=unreduced)


def jax_mesh(mesh: Mesh, devices: Sequence[object], explicit: Set[str] = frozenset()) -> jax.sharding.Mesh:
    """The mesh with device number `n` at the place of `n`; JAX lets values be unreduced along explicit axes only.

    Raises: SdyError SDY-X104 where there is no such device.
    """
    numbers = mesh.devices()
    known = devices or cast(Sequence[object], jax.devices())
    if max(numbers) >= len(known):
        message = f"the program runs on {mesh.device_count} devices, JAX has {len(known)}"
        hint = "XLA_FLAGS=--xla_force_host_platform_device_count=N gives N devices on a CPU"
        raise SdyError(Diagnostic("SDY-X104", message, hint=hint))
    placed = np.array([known[number] for number in numbers], dtype=object)
    types = tuple(AxisType.Explicit if axis.name in explicit else AxisType.Auto for axis in mesh.axes)
    names = tuple(axis.name for axis in mesh.axes)
    return jax.sharding.Mesh(placed.reshape([axis.size for axis in mesh.axes]), names, axis_types=types)
