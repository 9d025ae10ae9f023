"""Shardings in the form of XLA's HLO: the number of shards of each dim, and the device that holds each shard.

HLO shardings have no axes. The order of devices is read as digits of the device numbers, which sub-axes of a mesh are
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, product
from math import prod

from sdy.model.axis import AxisList, AxisRef, contains, sub_axis_ref
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.axis_on_mesh import ordered_refs, replica_groups
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import Digit, counting_digits
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import closed_on, fully_closed


class SubgroupKind(Enum):
    """The relation of devices that hold the same shard, in XLA's order. The enum value is its keyword in the text."""

    MANUAL = "manual"
    UNREDUCED = "unreduced"
    REPLICATED = "replicated"


_KINDS = tuple(SubgroupKind)


class Untiled(Enum):
    """A sharding that splits no dim. The enum value is the keyword in the text."""

    REPLICATED = "replicated"
    MANUAL = "manual"
    UNREDUCED = "unreduced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Maximal:
    """A sharding that assigns the tensor to one device."""

    device: int


@dataclass(frozen=True, slots=True)
class Tiled:
    """Shard counts per dim, then groups of devices with the same shard; `devices` in row-major order of both."""

    tiles: tuple[int, ...]
    subgroups: tuple[tuple[SubgroupKind, int], ...]
    devices: tuple[int, ...]

    @property
    def has_manual(self) -> bool:
        """Return whether the program itself handles the shards along some of the subgroups."""
        return any(kind is SubgroupKind.MANUAL for kind, _ in self.subgroups)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The dims of the device assignment: the tiles, then the sizes of the subgroups."""
        return (*self.tiles, *(size for _, size in self.subgroups))


HloSharding = Untiled | Maximal | Tiled


def canonical_tiling(
    tiles: tuple[int, ...], groups: tuple[tuple[SubgroupKind, int], ...], devices: tuple[int, ...]
) -> HloSharding:
    """Return the sharding in XLA's canonical form.

    Groups of one device are dropped, groups of the same kind are merged, and kinds are ordered. A sharding that splits
    no dim and has one kind of group is `Untiled`. Devices with equal copies are sorted.
    """
    groups, devices = _with_ordered_groups(tuple(group for group in groups if group[1] > 1), devices)
    if prod(tiles) == 1 and len(groups) < 2:
        return Untiled(groups[0][0].value) if groups else Untiled.REPLICATED
    return Tiled(tiles, groups, _with_sorted_copies(devices, groups))


def _with_ordered_groups(
    groups: tuple[tuple[SubgroupKind, int], ...], devices: tuple[int, ...]
) -> tuple[tuple[tuple[SubgroupKind, int], ...], tuple[int, ...]]:
    """Return the groups sorted and merged by kind, and the devices in the row-major order of the new groups."""
    order = sorted(range(len(groups)), key=lambda index: _KINDS.index(groups[index][0]))
    sizes = [size for _, size in groups]
    strides = [prod(sizes[index + 1 :]) for index in range(len(sizes))]
    steps = [range(0, sizes[index] * strides[index], strides[index]) for index in order]
    offsets = [sum(steps_taken) for steps_taken in product(*steps)]  # of the devices with the same shard
    ordered = (devices[first + offset] for first in range(0, len(devices), len(offsets)) for offset in offsets)
    merged = ((kind, prod(size for other, size in groups if other is kind)) for kind in _KINDS)
    return tuple(group for group in merged if group[1] > 1), tuple(ordered)


def _with_sorted_copies(numbers: tuple[int, ...], groups: tuple[tuple[SubgroupKind, int], ...]) -> tuple[int, ...]:
    """Return the device numbers with the copies of each shard in ascending order, since their order has no meaning."""
    if not groups or groups[-1][0] is not SubgroupKind.REPLICATED:
        return numbers
    count = groups[-1][1]
    copies = (sorted(numbers[start : start + count]) for start in range(0, len(numbers), count))
    return tuple(number for group in copies for number in group)


def device_digits(numbers: tuple[int, ...]) -> tuple[Digit, ...] | None:
    """Return the fewest digits, major first, that count through `numbers`, all devices; None if there are none.

    >>> device_digits((0, 3, 1, 4, 2, 5))
    (Digit(size=3, stride=1), Digit(size=2, stride=3))
    """
    return counting_digits(numbers) if sorted(numbers) == list(range(len(numbers))) else None


def hlo_of_sharding(sharding: TensorSharding, mesh: Mesh) -> HloSharding:
    """Return the HLO form of a sharding. Open dims and explicitly replicated axes have no counterpart and are lost."""
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


def sharding_of_hlo(hlo: HloSharding, mesh: Mesh, rank: int, *, in_manual: bool = False) -> TensorSharding | None:
    """Return the sharding on `mesh` of a tensor of `rank` dims; None if no axes of the mesh express it.

    `in_manual` says that the tensor is in a manual computation, where `hlo` has the manual axes too.
    """
    match hlo:
        case Untiled.REPLICATED:
            return fully_closed(mesh, rank)
        case Untiled.UNREDUCED:
            return closed_on(mesh, [()] * rank, tuple(AxisRef(axis.name) for axis in mesh.axes))
        case Maximal(device):
            return fully_closed(mesh, 0) if mesh == Mesh((), (device,)) else None
        case Tiled():
            return _tiled_on(hlo, mesh, in_manual=in_manual) if len(hlo.tiles) == rank else None
        case _:
            return None


def mesh_of_hlo(hlo: HloSharding) -> Mesh:
    """Return the coarsest mesh whose full axes express `hlo`; a mesh without axes if `hlo` splits no dim."""
    match hlo:
        case Maximal(device):
            return Mesh((), (device,))
        case Tiled():
            return common_mesh_of_hlo([hlo], len(hlo.devices))
        case _:
            return Mesh(())


def common_mesh_of_hlo(shardings: Iterable[Tiled], device_count: int) -> Mesh:
    """Return the coarsest mesh of `device_count` devices whose full axes express all shardings, as far as one can.

    If a device order is not regular, the mesh lists its devices in that order. Shardings of another number of devices,
    and those whose axes do not fit together with the axes of earlier ones, are left out.
    """
    fitting = [hlo for hlo in shardings if len(hlo.devices) == device_count]
    order = next((hlo.devices for hlo in fitting if _digits_in(hlo, range(device_count)) is None), ())
    # By the axes of a mesh, the number of the devices that are minor to each of them.
    strides = [1, device_count]
    for hlo in fitting:
        digits_per_dim = _digits_in(hlo, order or range(device_count)) or ()
        found = {
            stride
            for digits in digits_per_dim
            for digit in digits
            for stride in (digit.stride, digit.size * digit.stride)
        }
        candidate = sorted({*strides, *found})
        if all(major % minor == 0 for minor, major in pairwise(candidate)):
            strides = candidate
    sizes = [major // minor for minor, major in pairwise(strides) if major > minor]
    return _mesh(sizes[::-1], order)


def _digits_in(hlo: Tiled, order: Sequence[int]) -> list[list[Digit]] | None:
    """Return the digits of each dim and subgroup that count through the positions of its devices in an order."""
    position_of = {device: position for position, device in enumerate(order)}
    positions = _with_sorted_copies(tuple(position_of[device] for device in hlo.devices), hlo.subgroups)
    return _digits_per_dim(device_digits(positions), hlo.sizes)


def _mesh(sizes: list[int], devices: tuple[int, ...] = ()) -> Mesh:
    return Mesh(tuple(MeshAxis(f"_axis_{index}", size) for index, size in enumerate(sizes)), devices)


def _tiled_on(hlo: Tiled, mesh: Mesh, *, in_manual: bool) -> TensorSharding | None:
    if mesh.device_count != len(hlo.devices) or (not in_manual and hlo.has_manual):
        return None
    digits_per_dim = _digits_in(hlo, mesh.listed_devices())
    axes = [None] if digits_per_dim is None else [_axes(digits, mesh) for digits in digits_per_dim]
    known = [refs for refs in axes if refs is not None]
    if len(known) < len(axes):
        return None
    kinds = [kind for kind, _ in hlo.subgroups]
    groups = zip(kinds, known[len(hlo.tiles) :], strict=True)
    unreduced = [ref for kind, refs in groups if kind is SubgroupKind.UNREDUCED for ref in refs]
    return closed_on(mesh, known[: len(hlo.tiles)], sort_and_merge(unreduced, mesh))


def manual_axes_of_hlo(hlo: HloSharding, mesh: Mesh) -> tuple[str, ...] | None:
    """Return the axes along which the program handles shards itself; None if these are not full axes."""
    if hlo is Untiled.MANUAL:
        return tuple(axis.name for axis in mesh.axes)
    if not isinstance(hlo, Tiled) or not hlo.has_manual or mesh.device_count != len(hlo.devices):
        return None
    digits_per_dim = _digits_in(hlo, mesh.listed_devices())
    digits = None if digits_per_dim is None else digits_per_dim[len(hlo.tiles)]  # manual groups come first
    refs = None if digits is None else _axes(digits, mesh)
    if refs is None or any(ref.sub_axis is not None for ref in refs):
        return None
    return tuple(ref.name for ref in sort_and_merge(refs, mesh))


def _digits_per_dim(digits: tuple[Digit, ...] | None, sizes: tuple[int, ...]) -> list[list[Digit]] | None:
    """Distribute the digits over the dims of `sizes`, both major first; None if some digit would straddle two dims."""
    rest, per_dim = list(digits or ()), [list[Digit]() for _ in sizes]
    if digits is None:
        return None
    for index in reversed(range(len(sizes))):
        remaining = sizes[index]
        while remaining > 1:
            digit = rest.pop()
            if remaining % digit.size and digit.size % remaining:
                return None
            taken = min(remaining, digit.size)
            per_dim[index].insert(0, Digit(taken, digit.stride))
            if taken < digit.size:
                rest.append(Digit(digit.size // taken, digit.stride * taken))
            remaining //= taken
    return per_dim


def _axes(digits: list[Digit], mesh: Mesh) -> AxisList | None:
    """Return the mesh axes that the digits stand for; None if some digit is not a sub-axis."""
    axes: AxisList = ()
    for digit in digits:
        refs = _refs(digit, mesh)
        if refs is None:
            return None
        axes = extended(axes, refs, mesh)
    return axes


def _refs(digit: Digit, mesh: Mesh) -> AxisList | None:
    """Return the sub-axes that a digit covers, major first; several if it begins in one axis and ends in another."""
    refs: AxisList = ()
    weight, size, stride = 1, digit.size, digit.stride
    for axis in reversed(mesh.axes):
        if size > 1 and stride < weight * axis.size:
            minor_size = stride // weight  # size of the part of the axis that is minor to the digit
            if stride % weight or axis.size % minor_size:
                return None
            end = axis.size // minor_size
            taken = min(size, end)
            if end % taken or size % taken:
                return None
            is_full_axis = taken == axis.size
            refs = (AxisRef(axis.name) if is_full_axis else sub_axis_ref(axis.name, end // taken, end), *refs)
            size, stride = size // taken, weight * axis.size
        weight *= axis.size
    return refs
