"""Shardings as XLA's HLO has them: in how many pieces each dim is cut, and which device holds which piece.

HLO knows no axes. Its order of devices is read here as digits of the device numbers, which sub-axes of a mesh are too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import product
from math import prod

from sdy.model.axis import AxisList, AxisRef, contains, sub_axis_ref
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.axis_on_mesh import ordered_refs, replica_groups
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import closed_on, fully_closed


class SubgroupKind(Enum):
    """What devices that hold the same piece do with it, in XLA's order. The value is the word in the text."""

    MANUAL = "manual"
    UNREDUCED = "unreduced"
    REPLICATED = "replicated"


_KINDS = tuple(SubgroupKind)


class Untiled(Enum):
    """A sharding that cuts nothing. The value is the word in the text."""

    REPLICATED = "replicated"
    MANUAL = "manual"
    UNREDUCED = "unreduced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Maximal:
    """On one device only."""

    device: int


@dataclass(frozen=True, slots=True)
class Tiled:
    """Pieces per dim, then groups of devices with the same piece; `devices` in row-major order of both."""

    tiles: tuple[int, ...]
    subgroups: tuple[tuple[SubgroupKind, int], ...]
    devices: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of tiles, then of subgroups: the dims of the assignment of devices."""
        return (*self.tiles, *(size for _, size in self.subgroups))


HloSharding = Untiled | Maximal | Tiled


@dataclass(frozen=True, slots=True)
class DeviceDigit:
    """A digit of the numbers of devices: how many values it has, and by how much its next value is further on."""

    size: int
    stride: int


def canonical_tiling(
    tiles: tuple[int, ...], groups: tuple[tuple[SubgroupKind, int], ...], devices: tuple[int, ...]
) -> HloSharding:
    """The sharding in the one form that it has for XLA.

    Groups of one device are none; those of a kind are one, and kinds have an order; what cuts nothing and has one kind
    of group is that kind; copies have no order.
    """
    groups, devices = _with_ordered_groups(tuple(group for group in groups if group[1] > 1), devices)
    if prod(tiles) == 1 and len(groups) < 2:
        return Untiled(groups[0][0].value) if groups else Untiled.REPLICATED
    return Tiled(tiles, groups, _with_sorted_copies(devices, groups))


def _with_ordered_groups(
    groups: tuple[tuple[SubgroupKind, int], ...], devices: tuple[int, ...]
) -> tuple[tuple[tuple[SubgroupKind, int], ...], tuple[int, ...]]:
    """Groups by kind, those of one kind as one, and the devices in the row-major order of that."""
    order = sorted(range(len(groups)), key=lambda index: _KINDS.index(groups[index][0]))
    sizes = [size for _, size in groups]
    strides = [prod(sizes[index + 1 :]) for index in range(len(sizes))]
    steps = [range(0, sizes[index] * strides[index], strides[index]) for index in order]
    places = [sum(steps_taken) for steps_taken in product(*steps)]  # of the devices with one piece
    ordered = (devices[first + place] for first in range(0, len(devices), len(places)) for place in places)
    merged = ((kind, prod(size for own, size in groups if own is kind)) for kind in _KINDS)
    return tuple(group for group in merged if group[1] > 1), tuple(ordered)


def _with_sorted_copies(numbers: tuple[int, ...], groups: tuple[tuple[SubgroupKind, int], ...]) -> tuple[int, ...]:
    """The numbers of devices in one order of the many that mean the same: copies of a piece in ascending order."""
    if not groups or groups[-1][0] is not SubgroupKind.REPLICATED:
        return numbers
    count = groups[-1][1]
    copies = (sorted(numbers[place : place + count]) for place in range(0, len(numbers), count))
    return tuple(number for group in copies for number in group)


def device_digits(numbers: tuple[int, ...]) -> tuple[DeviceDigit, ...] | None:
    """The fewest digits, major first, that count through `numbers`; None where no digits do.

    >>> device_digits((0, 3, 1, 4, 2, 5))
    (DeviceDigit(size=3, stride=1), DeviceDigit(size=2, stride=3))
    """
    digits: list[DeviceDigit] = []
    rest = numbers
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        size = next((count for count, number in enumerate(rest) if number != count * stride), len(rest))
        if stride < 1 or size < 2 or len(rest) % size:
            return None
        digits.insert(0, DeviceDigit(size, stride))
        # Where the digit is one of all numbers, they are runs of it, and the rest follows from where runs begin.
        if any(number != rest[place - place % size] + place % size * stride for place, number in enumerate(rest)):
            return None
        rest = rest[::size]
    return tuple(digits) if sorted(numbers) == list(range(len(numbers))) else None


def hlo_of_sharding(sharding: TensorSharding, mesh: Mesh) -> HloSharding:
    """What of a sharding HLO can say: neither which dims are open, nor what is only listed as replicated."""
    if mesh.is_maximal:
        return Maximal(mesh.device_ids[0])
    tiles = tuple(sharded_size(dim.axes, mesh) for dim in sharding.dims)
    unreduced = sharded_size(sharding.unreduced, mesh)
    refs = (*(ref for dim in sharding.dims for ref in dim.axes), *sharding.unreduced)
    digits = ordered_refs(refs, mesh)
    used = [digit for ref in refs for digit in digits if contains(ref, digit)]
    (devices,) = replica_groups(tuple(dict.fromkeys((*used, *digits))), mesh)
    copies = mesh.device_count // (prod(tiles) * unreduced)
    return canonical_tiling(tiles, ((SubgroupKind.UNREDUCED, unreduced), (SubgroupKind.REPLICATED, copies)), devices)


def sharding_of_hlo(hlo: HloSharding, mesh: Mesh, rank: int) -> TensorSharding | None:
    """The sharding on `mesh` of a tensor of `rank` dims; None where no axes of the mesh cut it so."""
    match hlo:
        case Untiled.REPLICATED:
            return fully_closed(mesh, rank)
        case Untiled.UNREDUCED:
            return closed_on(mesh, [()] * rank, tuple(AxisRef(axis.name) for axis in mesh.axes))
        case Maximal(device):
            return fully_closed(mesh, 0) if mesh == Mesh((), (device,)) else None
        case Tiled():
            return _tiled_on(hlo, mesh) if len(hlo.tiles) == rank else None
        case _:
            return None


def mesh_of_hlo(hlo: HloSharding) -> Mesh:
    """A mesh whose whole axes say what `hlo` says, as coarse as can be; of no axes where `hlo` cuts nothing."""
    match hlo:
        case Maximal(device):
            return Mesh((), (device,))
        case Tiled():
            cuts = _cut(device_digits(hlo.devices), hlo.sizes)
            if cuts is None:  # an order of devices of its own
                return _mesh([size for size in hlo.sizes if size > 1], hlo.devices)
            digits = sorted((digit for cut in cuts for digit in cut), key=lambda digit: -digit.stride)
            return _mesh([digit.size for digit in digits])
        case _:
            return Mesh(())


def _mesh(sizes: list[int], devices: tuple[int, ...] = ()) -> Mesh:
    return Mesh(tuple(MeshAxis(f"_axis_{index}", size) for index, size in enumerate(sizes)), devices)


def _tiled_on(hlo: Tiled, mesh: Mesh) -> TensorSharding | None:
    place_of = {device: place for place, device in enumerate(mesh.devices())}
    if mesh.device_count != len(hlo.devices):
        return None
    places = _with_sorted_copies(tuple(place_of[device] for device in hlo.devices), hlo.subgroups)
    cuts = _cut(device_digits(places), hlo.sizes)
    if cuts is None:
        return None
    axes = [_axes(cut, mesh) for cut in cuts]
    dims, groups = axes[: len(hlo.tiles)], axes[len(hlo.tiles) :]
    unreduced: list[AxisRef] = []
    for (kind, _), refs in zip(hlo.subgroups, groups, strict=True):
        if refs is None or kind is SubgroupKind.MANUAL:
            return None
        unreduced += refs if kind is SubgroupKind.UNREDUCED else ()
    known = [dim for dim in dims if dim is not None]
    return closed_on(mesh, known, sort_and_merge(unreduced, mesh)) if len(known) == len(dims) else None


def _cut(digits: tuple[DeviceDigit, ...] | None, sizes: tuple[int, ...]) -> list[list[DeviceDigit]] | None:
    """The digits of each of the dims of `sizes`, both major first; None where no digits are between two dims."""
    rest, cuts = list(digits or ()), [list[DeviceDigit]() for _ in sizes]
    if digits is None:
        return None
    for index in reversed(range(len(sizes))):
        wanted = sizes[index]
        while wanted > 1:
            digit = rest.pop()
            if wanted % digit.size and digit.size % wanted:
                return None
            taken = min(wanted, digit.size)
            cuts[index].insert(0, DeviceDigit(taken, digit.stride))
            if taken < digit.size:
                rest.append(DeviceDigit(digit.size // taken, digit.stride * taken))
            wanted //= taken
    return cuts


def _axes(digits: list[DeviceDigit], mesh: Mesh) -> AxisList | None:
    """The axes of the mesh that the digits are; None where one is no sub-axis."""
    axes: AxisList = ()
    for digit in digits:
        refs = _refs(digit, mesh)
        if refs is None:
            return None
        axes = extended(axes, refs, mesh)
    return axes


def _refs(digit: DeviceDigit, mesh: Mesh) -> AxisList | None:
    """The sub-axes that a digit covers, major first: of several axes where it begins in one and ends in another."""
    refs: AxisList = ()
    weight, size, stride = 1, digit.size, digit.stride
    for axis in reversed(mesh.axes):
        if size > 1 and stride < weight * axis.size:
            within = stride // weight  # devices of the axis that are minor to the digit
            if stride % weight or axis.size % within:
                return None
            end = axis.size // within
            taken = min(size, end)
            if end % taken or size % taken:
                return None
            whole = taken == axis.size
            refs = (AxisRef(axis.name) if whole else sub_axis_ref(axis.name, end // taken, end), *refs)
            size, stride = size // taken, weight * axis.size
        weight *= axis.size
    return refs
