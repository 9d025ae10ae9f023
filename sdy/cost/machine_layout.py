"""Where the devices of a mesh stand on a machine, and over which of its links a group of them talks.

The mesh lies on the machine in its own order: on a torus each axis of more than one device along an axis of its own,
and where the mesh has more axes than the torus, the neighbours of fewest devices share one; behind a switch, the minor
devices are those of a node.

    mesh x=4, y=2, z=8 on a torus of two axes    x and y share the first, of 8 devices; z has the second
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sdy.cost.collective_time import (
    CollectiveTime,
    PermuteLoad,
    SwitchGroup,
    TorusLine,
    permute_time,
    switch_time,
    torus_time,
)
from sdy.cost.collectives import CollectiveKind
from sdy.cost.device_groups import DeviceGroup
from sdy.cost.hardware import Network, Switch, Torus
from sdy.model.axis import AxisList, AxisRef, sub_axis_ref
from sdy.model.mesh import Mesh


@dataclass(frozen=True, slots=True)
class _Digit:
    """A prime part of a mesh axis: devices that differ in it alone are `stride` positions of the mesh apart."""

    axis: str
    pre_size: int
    size: int
    stride: int

    def of(self, position: int) -> int:
        return position // self.stride % self.size


@dataclass(frozen=True, slots=True)
class _TorusAxis:
    """An axis of the torus: `size` devices that are `stride` positions of the mesh apart."""

    size: int
    stride: int

    def of(self, position: int) -> int:
        return position // self.stride % self.size

    def holds(self, digit: _Digit) -> bool:
        return self.stride <= digit.stride < self.stride * self.size


class MachineLayout:
    """A mesh on a machine."""

    def __init__(self, mesh: Mesh, network: Network) -> None:
        self._network = network
        self._mesh = mesh
        self._positions = {device: position for position, device in enumerate(mesh.devices())}
        self._digits = _digits(mesh)
        self._sides = _sides([axis.size for axis in mesh.axes], network.axis_count if isinstance(network, Torus) else 1)

    def axes_of(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """The axes of the mesh in which members of a group differ, major first; adjacent sub-axes as one."""
        parts: list[tuple[str, int, int]] = []  # name, start and end
        for digit in self._varying(groups):
            start = digit.pre_size
            if parts and parts[-1][0] == digit.axis and parts[-1][2] == start:
                _, start, _ = parts.pop()
            parts.append((digit.axis, start, digit.pre_size * digit.size))
        return tuple(
            AxisRef(name) if end // start == self._mesh.axis_size(name) else sub_axis_ref(name, start, end)
            for name, start, end in parts
        )

    def time_of(self, kind: CollectiveKind, result_bytes: float, groups: Sequence[DeviceGroup]) -> CollectiveTime:
        """Of a collective among the members of each group; of a permutation, groups are pairs of source and target.

        A group that is no product of axes counts as the smallest one that holds it.
        """
        match self._network:
            case Torus() as torus if kind is CollectiveKind.COLLECTIVE_PERMUTE:
                return permute_time(result_bytes, self._route(groups, torus), torus.link_bandwidth, torus.hop_seconds)
            case Torus() as torus:
                return torus_time(kind, result_bytes, self._rows(groups, torus), torus)
            case Switch() as switch:
                return self._switch_time(kind, result_bytes, groups, switch)

    def _varying(self, groups: Sequence[DeviceGroup]) -> list[_Digit]:
        places = [[self._positions[device] for device in group] for group in groups]
        return [digit for digit in self._digits if any(len(set(map(digit.of, group))) > 1 for group in places)]

    def _rows(self, groups: Sequence[DeviceGroup], torus: Torus) -> list[TorusLine]:
        varying = self._varying(groups)
        rows: list[TorusLine] = []
        for side in self._sides:
            inside = [digit for digit in varying if side.holds(digit)]
            if inside:
                size = prod(digit.size for digit in inside)
                extent = inside[0].stride * inside[0].size // side.stride
                rows.append(TorusLine(size, extent == side.size and torus.wraps(side.size), extent // size))
        return rows

    def _route(self, pairs: Sequence[DeviceGroup], torus: Torus) -> PermuteLoad:
        """Every message goes along the first axis, then the second: the shorter way round where there are two."""
        load: dict[tuple[int, int], int] = {}
        longest = 0
        for source, target in pairs:
            way = self._way(self._positions[source], self._positions[target], torus)
            longest = max(longest, len(way))
            for link in way:
                load[link] = load.get(link, 0) + 1
        return PermuteLoad(longest, max(load.values(), default=0))

    def _way(self, here: int, target: int, torus: Torus) -> list[tuple[int, int]]:
        """The links, as pairs of positions."""
        way: list[tuple[int, int]] = []
        for side in self._sides:
            ahead = side.of(target) - side.of(here)
            if torus.wraps(side.size) and abs(ahead) > side.size // 2:
                ahead -= side.size if ahead > 0 else -side.size
            for _ in range(abs(ahead)):
                step = (side.of(here) + (1 if ahead > 0 else -1)) % side.size
                there = here + (step - side.of(here)) * side.stride
                way.append((here, there))
                here = there
        return way

    def _switch_time(
        self, kind: CollectiveKind, result_bytes: float, groups: Sequence[DeviceGroup], switch: Switch
    ) -> CollectiveTime:
        nodes = [[self._positions[device] // switch.node_size for device in group] for group in groups]
        if kind is CollectiveKind.COLLECTIVE_PERMUTE:
            moves = any(source != target for source, target in groups)
            bandwidth = switch.node_bandwidth if all(a == b for a, b in nodes) else switch.network_bandwidth
            return permute_time(result_bytes, PermuteLoad(int(moves), int(moves)), bandwidth, switch.hop_seconds)
        widest = max(nodes, key=lambda group: len(set(group)))
        count = len(set(widest))
        return switch_time(kind, result_bytes, SwitchGroup(count, -(-len(widest) // count)), switch)


def _digits(mesh: Mesh) -> list[_Digit]:
    """Major first."""
    digits: list[_Digit] = []
    stride = mesh.device_count
    for axis in mesh.axes:
        pre_size = 1
        for prime in _primes(axis.size):
            stride //= prime
            digits.append(_Digit(axis.name, pre_size, prime, stride))
            pre_size *= prime
    return digits


def _primes(number: int) -> list[int]:
    """Ascending; none of 1."""
    primes: list[int] = []
    divisor = 2
    while number > 1:
        while number % divisor == 0:
            primes.append(divisor)
            number //= divisor
        divisor += 1
    return primes


def _sides(axis_sizes: Sequence[int], most: int) -> list[_TorusAxis]:
    """At most so many sides, major first."""
    sizes = [size for size in axis_sizes if size > 1]
    while len(sizes) > most:
        first = min(range(len(sizes) - 1), key=lambda index: sizes[index] * sizes[index + 1])
        sizes[first : first + 2] = [sizes[first] * sizes[first + 1]]
    return [_TorusAxis(size, prod(sizes[index + 1 :])) for index, size in enumerate(sizes)]
