"""The position of a mesh's devices on a machine, and the links that a group of them uses to communicate.

The mesh is laid out on the machine in its own order. On a torus, each mesh axis of more than one device lies along one
torus axis. If the mesh has more such axes than the torus, adjacent mesh axes share one, the pairs of fewest devices
first. With a switch, the minor devices of the mesh belong to the same node.

    mesh x=4, y=2, z=8 on a torus of two axes    x and y share the first axis, of 8 devices; z has the second
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from sdy.cost.collectives import CollectiveKind
from sdy.cost.device_groups import DeviceGroup
from sdy.cost.hardware import Network, Switch, Torus
from sdy.model.axis import AxisList
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import Digit, digit_of, mesh_digits


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


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """The seconds that the bytes take and those that the hops take, which overlap.

    Let V be the bytes that all devices of a group have together, and W the bandwidth of a device along one axis in both
    directions. On closed rings, an all-gather and a reduce-scatter take V / (W axes), and an all-reduce the sum of
    both. An all-to-all takes V max(sizes) / (4 N W), because all data for the other half crosses the middle of the
    longest axis. Source: ring algorithms in the notation of the scaling book; docs/costs.md.
    """

    bandwidth_seconds: float
    latency_seconds: float

    @property
    def seconds(self) -> float:
        """The larger of the two times."""
        return max(self.bandwidth_seconds, self.latency_seconds)

    @property
    def is_latency_bound(self) -> bool:
        """Return whether the latency is larger, so that fewer bytes would not be faster."""
        return self.latency_seconds > self.bandwidth_seconds


@dataclass(frozen=True, slots=True)
class TorusLine:
    """The devices of a group along one axis of a torus: every `stride`-th device, in a ring if `wraps` is set."""

    size: int
    wraps: bool
    stride: int = 1  # the number of interleaved groups, which share links


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """A group of devices on a switched network: the number of nodes it spans, and its members per node."""

    count: int
    members: int


@dataclass(frozen=True, slots=True)
class PermuteLoad:
    """The load of a collective-permute: the hops of the longest path, and the messages on the busiest link."""

    hops: int
    messages: int


def torus_time(kind: CollectiveKind, result_bytes: float, lines: Sequence[TorusLine], torus: Torus) -> CollectiveTime:
    """Return the time of a collective other than a collective-permute along `lines`, one per torus axis.

    `result_bytes` is the size of the result on one device.

    >>> from sdy.cost.hardware import HARDWARE
    >>> torus = HARDWARE["tpu_v4p"].network
    >>> round(torus_time(CollectiveKind.ALL_GATHER, 9e6, [TorusLine(4, wraps=True)], torus).seconds, 9)
    0.0001
    """
    lines = [line for line in lines if line.size > 1]
    if not lines:
        return CollectiveTime(0.0, 0.0)
    latency = sum(_hops(line, torus) * line.stride for line in lines) * torus.hop_seconds
    match kind:
        case CollectiveKind.ALL_GATHER:
            return CollectiveTime(_gather_seconds(result_bytes, lines, torus), latency)
        case CollectiveKind.REDUCE_SCATTER:
            global_bytes = result_bytes * prod(line.size for line in lines)
            return CollectiveTime(_gather_seconds(global_bytes, lines, torus), latency)
        case CollectiveKind.ALL_REDUCE:
            return CollectiveTime(2 * _gather_seconds(result_bytes, lines, torus), 2 * latency)
        case CollectiveKind.ALL_TO_ALL:
            return CollectiveTime(max(_exchange_seconds(result_bytes, line, torus) for line in lines), latency)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            raise ValueError("use permute_time for a collective-permute")


def switch_time(kind: CollectiveKind, result_bytes: float, group: SwitchGroup, switch: Switch) -> CollectiveTime:
    """Return the time of a collective other than a collective-permute on a switched network.

    `result_bytes` is the size of the result on one device. The traffic between nodes is shared evenly by the members in
    a node, and overlaps with the traffic inside of nodes.
    """
    devices = group.count * group.members
    share_inside, share_outside = 1 - 1 / group.members, 1 - 1 / group.count
    latency = switch.hop_seconds * ((group.members > 1) + (group.count > 1))

    def gather(global_bytes: float) -> float:
        between_nodes = global_bytes * share_outside / (group.members * switch.network_bandwidth)
        return max(global_bytes * share_inside / switch.node_bandwidth, between_nodes)

    match kind:
        case CollectiveKind.ALL_GATHER:
            return CollectiveTime(gather(result_bytes), latency)
        case CollectiveKind.REDUCE_SCATTER:
            return CollectiveTime(gather(result_bytes * devices), latency)
        case CollectiveKind.ALL_REDUCE:
            return CollectiveTime(2 * gather(result_bytes), 2 * latency)
        case CollectiveKind.ALL_TO_ALL:
            inside = result_bytes * (group.members - 1) / devices / switch.node_bandwidth
            between_nodes = result_bytes * share_outside / switch.network_bandwidth
            return CollectiveTime(max(inside, between_nodes), latency)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            raise ValueError("use permute_time for a collective-permute")


def permute_time(result_bytes: float, load: PermuteLoad, link_bandwidth: float, hop_seconds: float) -> CollectiveTime:
    """Return the time of a collective-permute with messages of `result_bytes` each."""
    return CollectiveTime(result_bytes * load.messages / link_bandwidth, load.hops * hop_seconds)


def _hops(line: TorusLine, torus: Torus) -> int:
    """Return the number of steps until every device has received data of every other device of its line."""
    return line.size // 2 if line.wraps and torus.is_bidirectional else line.size - 1


def _gather_seconds(global_bytes: float, lines: Sequence[TorusLine], torus: Torus) -> float:
    """Return the time of an all-gather in which each line takes a share of the bytes so that all end at once."""
    alone = (_hops(line, torus) * global_bytes / line.size * line.stride / torus.link_bandwidth for line in lines)
    speed = sum(1 / seconds if seconds else 0.0 for seconds in alone)
    return 1 / speed if speed else 0.0


def _exchange_seconds(result_bytes: float, line: TorusLine, torus: Torus) -> float:
    """Return the time that an all-to-all takes on the busiest link of a line."""
    return _busiest_link(line, torus) * result_bytes / line.size * line.stride / torus.link_bandwidth


def _busiest_link(line: TorusLine, torus: Torus) -> float:
    """Return the messages over the busiest link in one direction if every device sends one to every other device."""
    if not line.wraps:
        return (line.size // 2) * ((line.size + 1) // 2)
    if not torus.is_bidirectional:
        return line.size * (line.size - 1) / 2
    return line.size**2 // 4 / 2  # the messages to the opposite device are divided over both directions


class GroupAxes:
    """Finds the axes of `mesh` in which the devices of a group differ."""

    def __init__(self, mesh: Mesh) -> None:
        self.digits = {ref: digit_of(ref, mesh) for ref in mesh_digits(mesh)}  # major first
        self._mesh = mesh
        self._varying: dict[tuple[DeviceGroup, ...], AxisList] = {}

    @cached_property
    def positions(self) -> dict[int, int]:
        """The position of each device in the mesh."""
        return {device: position for position, device in enumerate(self._mesh.listed_devices())}

    def axes_of(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """Return the mesh axes along which members of a group differ, major first, with adjacent sub-axes merged."""
        return extended((), self.varying_digits(groups), self._mesh)

    def varying_digits(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """Return the digits in which the members of some group differ, major first."""
        key = tuple(groups)
        if key not in self._varying:  # most collectives of a program have one of a few lists of groups
            self._varying[key] = self._compute_varying_digits(groups)
        return self._varying[key]

    def _compute_varying_digits(self, groups: Sequence[DeviceGroup]) -> AxisList:
        groups_of_positions = [[self.positions[device] for device in group] for group in groups]
        return tuple(
            ref
            for ref, digit in self.digits.items()
            if any(len(set(map(digit.of, group))) > 1 for group in groups_of_positions)
        )
