"""Which device holds which shard. Source: docs/spec/06, 0.2 and 1.10."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains
from sdy.model.axis_on_mesh import ordered_refs
from sdy.model.mesh import Mesh, axis_positions
from sdy.model.sharding import TensorSharding


@lru_cache(maxsize=4096)
def shard_coordinates(axes: AxisList, mesh: Mesh) -> tuple[int, ...]:
    """For each device number, which of the pieces that `axes`, major first, cut a dim into it holds.

    >>> from sdy.model.axis import SubAxis
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("p", 2), MeshAxis("q", 4)))
    >>> shard_coordinates((AxisRef("q", SubAxis(1, 2)),), mesh)
    (0, 0, 1, 1, 0, 0, 1, 1)
    """
    weights = [(device_stride(ref, mesh), mesh.size_of(ref)) for ref in axes]
    of_device = [0] * mesh.device_count
    for position, device in enumerate(mesh.devices()):
        coordinate = 0
        for weight, size in weights:
            coordinate = coordinate * size + position // weight % size
        of_device[device] = coordinate
    return tuple(of_device)


def device_stride(ref: AxisRef, mesh: Mesh) -> int:
    """How many positions apart two devices are that are neighbours along `ref`."""
    later_axes = mesh.axes[axis_positions(mesh)[ref.name] + 1 :]
    within = mesh.axis_size(ref.name) // (ref.pre_size * mesh.size_of(ref))
    return within * prod(axis.size for axis in later_axes)


def source_target_pairs(
    source: TensorSharding, source_mesh: Mesh, target: TensorSharding, target_mesh: Mesh
) -> tuple[tuple[int, int], ...]:
    """Who hands its shard to whom when the cuts of `source` become those of `target`, by device number of the sender.

    The meshes have the same axes; each dim keeps its number of pieces. Devices stay at their coordinates along what
    cuts neither: there may be partial values, or tensors of their own. A device that has what it needs keeps it.
    """
    before, after, apart = _in_common_digits(source, target, target_mesh)
    senders = shard_coordinates((*before, *apart), source_mesh)
    receivers = shard_coordinates((*after, *apart), target_mesh)
    holders: dict[int, list[int]] = {}
    for device, coordinate in enumerate(senders):
        if receivers[device] != coordinate:
            holders.setdefault(coordinate, []).append(device)
    pairs = [
        (device if senders[device] == coordinate else holders[coordinate].pop(0), device)
        for device, coordinate in enumerate(receivers)
    ]
    return tuple(sorted(pairs))


def _in_common_digits(
    source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> tuple[AxisList, AxisList, AxisList]:
    """What cuts the dims of each sharding, and what cuts none, in digits of one split of each axis.

    Where an axis has no split with all refs, they are taken as they are, and axes that cut none are whole ones.
    """
    refs = (*source.axis_refs(), *target.axis_refs())
    if can_all_coexist(refs):
        digits = ordered_refs(refs, mesh)
        before, after = _digits_in_use(source, digits), _digits_in_use(target, digits)
        return before, after, tuple(digit for digit in digits if digit not in before and digit not in after)
    cutting = [tuple(ref for dim in each.dims for ref in dim.axes) for each in (source, target)]
    used = {ref.name for axes in cutting for ref in axes}
    return cutting[0], cutting[1], tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name not in used)


def _digits_in_use(sharding: TensorSharding, digits: Iterable[AxisRef]) -> AxisList:
    """The digits that cut dims, in the order in which they do."""
    return tuple(digit for dim in sharding.dims for ref in dim.axes for digit in digits if contains(ref, digit))
