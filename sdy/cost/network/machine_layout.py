"""The position of a mesh's devices on a machine, and the links that a group of them uses to communicate.

The mesh is laid out on the machine in its own order. On a torus, each mesh axis of more than one device lies along one
torus axis. If the mesh has more such axes than the torus, adjacent mesh axes share one, the pairs of fewest devices
first. With a switch, the minor devices of the mesh belong to the same node.

    mesh x=4, y=2, z=8 on a torus of two axes    x and y share the first axis, of 8 devices; z has the second
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sdy.cost.collectives import CollectiveKind
from sdy.cost.device_groups import DeviceGroup
from sdy.cost.hardware import Network, Switch, Torus
from sdy.cost.network.collective_time import (
    CollectiveTime,
    PermuteLoad,
    SwitchGroup,
    TorusLine,
    permute_time,
    switch_time,
    torus_time,
)
from sdy.cost.network.group_axes import GroupAxes
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import Digit


class MachineLayout:
    """The layout of a mesh on a machine."""

    def __init__(self, mesh: Mesh, network: Network) -> None:
        self._network = network
        self._axes = GroupAxes(mesh)
        axis_count = network.axis_count if isinstance(network, Torus) else 1
        self._torus_axes = _torus_axes([axis.size for axis in mesh.axes], axis_count)
        self._permute_loads: dict[tuple[DeviceGroup, ...], PermuteLoad] = {}

    def axes_of(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """Return the mesh axes along which members of a group differ, major first, with adjacent sub-axes merged."""
        return self._axes.axes_of(groups)

    def time_of(self, kind: CollectiveKind, result_bytes: float, groups: Sequence[DeviceGroup]) -> CollectiveTime:
        """Return the time of a collective among the members of each group.

        For a collective-permute, the groups are pairs of source and target. A group that is not a product of axes is
        treated as the smallest such product that contains it.
        """
        match self._network:
            case Torus() as torus if kind is CollectiveKind.COLLECTIVE_PERMUTE:
                load = self._permute_load(tuple(groups), torus)
                return permute_time(result_bytes, load, torus.link_bandwidth, torus.hop_seconds)
            case Torus() as torus:
                return torus_time(kind, result_bytes, self._torus_lines(groups, torus), torus)
            case Switch() as switch:
                return self._switch_time(kind, result_bytes, groups, switch)

    def _torus_lines(self, groups: Sequence[DeviceGroup], torus: Torus) -> list[TorusLine]:
        varying = [self._axes.digits[ref] for ref in self._axes.varying_digits(groups)]
        lines: list[TorusLine] = []
        for axis in self._torus_axes:
            inside = [digit for digit in varying if axis.stride <= digit.stride < axis.stride * axis.size]
            if inside:
                size = prod(digit.size for digit in inside)
                extent = inside[0].stride * inside[0].size // axis.stride
                lines.append(TorusLine(size, extent == axis.size and torus.wraps(axis.size), extent // size))
        return lines

    def _permute_load(self, pairs: tuple[DeviceGroup, ...], torus: Torus) -> PermuteLoad:
        known = self._permute_loads.get(pairs)
        if known is None:  # routing is slow, and a search meets few patterns of pairs
            known = self._permute_loads[pairs] = self._routed(pairs, torus)
        return known

    def _routed(self, pairs: Sequence[DeviceGroup], torus: Torus) -> PermuteLoad:
        """Route every message along the first axis, then the second, in the shorter direction of rings."""
        messages: dict[tuple[int, int], int] = {}  # by link
        longest = 0
        for source, target in pairs:
            path = self._path(self._axes.positions[source], self._axes.positions[target], torus)
            longest = max(longest, len(path))
            for link in path:
                messages[link] = messages.get(link, 0) + 1
        return PermuteLoad(longest, max(messages.values(), default=0))

    def _path(self, position: int, target: int, torus: Torus) -> list[tuple[int, int]]:
        """Return the links from one position to another, each as a pair of positions."""
        path: list[tuple[int, int]] = []
        for axis in self._torus_axes:
            hops = axis.of(target) - axis.of(position)
            if torus.wraps(axis.size) and abs(hops) > axis.size // 2:
                hops -= axis.size if hops > 0 else -axis.size
            for _ in range(abs(hops)):
                coordinate = (axis.of(position) + (1 if hops > 0 else -1)) % axis.size
                neighbour = position + (coordinate - axis.of(position)) * axis.stride
                path.append((position, neighbour))
                position = neighbour
        return path

    def _switch_time(
        self, kind: CollectiveKind, result_bytes: float, groups: Sequence[DeviceGroup], switch: Switch
    ) -> CollectiveTime:
        nodes = [[self._axes.positions[device] // switch.node_size for device in group] for group in groups]
        if kind is CollectiveKind.COLLECTIVE_PERMUTE:
            moves = any(source != target for source, target in groups)
            bandwidth = switch.node_bandwidth if all(a == b for a, b in nodes) else switch.network_bandwidth
            return permute_time(result_bytes, PermuteLoad(int(moves), int(moves)), bandwidth, switch.hop_seconds)
        widest = max(nodes, key=lambda group: len(set(group)))
        count = len(set(widest))
        return switch_time(kind, result_bytes, SwitchGroup(count, -(-len(widest) // count)), switch)


def _torus_axes(axis_sizes: Sequence[int], max_count: int) -> list[Digit]:
    """Join adjacent mesh axes until at most `max_count` torus axes are left; return these, major first."""
    sizes = [size for size in axis_sizes if size > 1]
    while len(sizes) > max_count:
        first = min(range(len(sizes) - 1), key=lambda index: sizes[index] * sizes[index + 1])
        sizes[first : first + 2] = [sizes[first] * sizes[first + 1]]
    return [Digit(size, prod(sizes[index + 1 :])) for index, size in enumerate(sizes)]
