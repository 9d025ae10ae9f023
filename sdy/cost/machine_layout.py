"""The position of a mesh's devices on a machine, and the links that a group of them uses to communicate.

The mesh is laid out on the machine in its own order: the most minor devices are those of a chip or of a node, the most
major ones are in different pods. On a torus, each mesh axis of more than one device lies along one torus axis. If the
mesh has more such axes than the torus, adjacent mesh axes share one, the pairs of fewest devices first. If it has
fewer, its axes are divided over several torus axes, so that these are as short as possible.

    mesh x=4, y=2, z=8 on a torus of two axes    x and y share the first axis, of 8 devices; z has the second
    mesh x=32, y=8 on a torus of three axes      x has the first two axes, of 4 and 8 devices; y has the third
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import gcd, prod

from sdy.cost.collectives import CollectiveKind, DeviceGroup
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
        torus = network if isinstance(network, Torus) else Torus(1, 0.0, 0.0, 1)
        self._torus_axes, self._chip, self._pods = torus_digits([axis.size for axis in mesh.axes], torus)
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
                return self._torus_permute_time(result_bytes, tuple(groups), torus)
            case Torus() as torus:
                return self._torus_time(kind, result_bytes, groups, torus)
            case Switch() as switch:
                return self._switch_time(kind, result_bytes, groups, switch)

    def _torus_time(
        self, kind: CollectiveKind, result_bytes: float, groups: Sequence[DeviceGroup], torus: Torus
    ) -> CollectiveTime:
        varying = [self._axes.digits[ref] for ref in self._axes.varying_digits(groups)]
        lines: list[TorusLine] = []
        for axis in self._torus_axes:
            inside = _parts_within(varying, axis)
            if inside:
                size = prod(digit.size for digit in inside)
                extent = inside[0].stride * inside[0].size // axis.stride
                lines.append(TorusLine(size, extent == axis.size and torus.wraps(axis.size), extent // size))
        across_chip = bool(_parts_within(varying, self._chip))
        pods = prod(digit.size for digit in _parts_within(varying, self._pods))
        return torus_time(kind, result_bytes, lines, torus, pods=pods, across_chip=across_chip)

    def _torus_permute_time(self, result_bytes: float, pairs: tuple[DeviceGroup, ...], torus: Torus) -> CollectiveTime:
        """Return the time of messages on the links, on chips, and between pods, whichever is the longest."""
        load = self._permute_load(pairs, torus)
        time = permute_time(result_bytes, load, torus.link_bandwidth * torus.efficiency, torus.hop_seconds)
        places = [[self._axes.positions[device] for device in pair] for pair in pairs]
        others = [0.0]
        if torus.chip_bandwidth and any(self._chip.of(one) != self._chip.of(other) for one, other in places):
            others.append(result_bytes / torus.chip_bandwidth)
        if torus.network_bandwidth and any(self._pods.of(one) != self._pods.of(other) for one, other in places):
            others.append(result_bytes / torus.network_bandwidth)
        latency = time.latency_seconds + torus.start_seconds
        return CollectiveTime(max(time.bandwidth_seconds, *others), latency)

    def _permute_load(self, pairs: tuple[DeviceGroup, ...], torus: Torus) -> PermuteLoad:
        """Route every message along the first axis, then the second, in the shorter direction of rings."""
        if pairs not in self._permute_loads:  # routing is slow, and a search meets few patterns of pairs
            positions = self._axes.positions
            paths = [self._path(positions[source], positions[target], torus) for source, target in pairs]
            messages = Counter(chain.from_iterable(paths))  # by link
            longest = max(map(len, paths), default=0)
            self._permute_loads[pairs] = PermuteLoad(longest, max(messages.values(), default=0))
        return self._permute_loads[pairs]

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
        node_size = devices_of_a_node(len(self._axes.positions), switch)
        nodes = [[self._axes.positions[device] // node_size for device in group] for group in groups]
        if kind is CollectiveKind.COLLECTIVE_PERMUTE:
            moves = any(source != target for source, target in groups)
            bandwidth = switch.node_bandwidth if all(a == b for a, b in nodes) else switch.network_bandwidth
            return permute_time(result_bytes, PermuteLoad(int(moves), int(moves)), bandwidth, switch.hop_seconds)
        widest = max(nodes, key=lambda group: len(set(group)))
        count = len(set(widest))
        return switch_time(kind, result_bytes, SwitchGroup(count, -(-len(widest) // count)), switch)


def latency_in_bytes(mesh: Mesh, network: Network) -> float:
    """Return the bytes that a device sends in the latency of a collective among all devices of a mesh."""
    devices = tuple(mesh.listed_devices())
    time = MachineLayout(mesh, network).time_of(CollectiveKind.ALL_GATHER, len(devices), [devices])
    return (len(devices) - 1) * time.latency_seconds / time.bandwidth_seconds if len(devices) > 1 else 0.0


def devices_of_a_node(devices: int, switch: Switch) -> int:
    """Return how many devices of each node a mesh takes: equally many, so that axes lie inside of nodes or across them.

    >>> from sdy.cost.machines.table import HARDWARE
    >>> devices_of_a_node(256, HARDWARE["gb200"].network), devices_of_a_node(144, HARDWARE["gb200"].network)
    (64, 72)
    """
    return max(size for size in range(1, min(devices, switch.node_size) + 1) if devices % size == 0)


def torus_digits(axis_sizes: Sequence[int], torus: Torus) -> tuple[list[Digit], Digit, Digit]:
    """Return the torus axes that a mesh takes, major first, the devices of a chip, and the pods.

    Each is a digit of the position of a device in the mesh.
    """
    sizes = [size for size in axis_sizes if size > 1]
    chip = pods = 1
    if sizes and sizes[-1] % torus.devices_per_chip == 0:
        chip = torus.devices_per_chip
        sizes[-1] //= chip
    count = prod(sizes) * chip
    if torus.pod_size and count > torus.pod_size and count % torus.pod_size == 0:
        pods = count // torus.pod_size
        left = pods
        for index, size in enumerate(sizes):
            taken = gcd(size, left)
            sizes[index], left = size // taken, left // taken
            if left == 1:
                break
    sizes = [size for size in sizes if size > 1]
    while len(sizes) > torus.axis_count:
        first = min(range(len(sizes) - 1), key=lambda index: sizes[index] * sizes[index + 1])
        sizes[first : first + 2] = [sizes[first] * sizes[first + 1]]
    sizes = _divided(sizes, torus.axis_count)
    digits = [Digit(size, chip * prod(sizes[index + 1 :])) for index, size in enumerate(sizes)]
    return digits, Digit(chip, 1), Digit(pods, count // pods)


def _divided(sizes: Sequence[int], count: int) -> list[int]:
    """Divide sizes into at most `count` factors, of which the largest is as small as possible."""
    best = list(sizes)
    for parts in product(range(1, count + 1), repeat=len(sizes)):
        if sum(parts) <= count:
            found = [factor for size, part in zip(sizes, parts, strict=True) for factor in _factors(size, part)]
            if max(found, default=1) < max(best, default=1):
                best = found
    return best


_LARGEST_FACTOR = 1 << 16  # the search for larger ones would take long, and no machine has them


def _factors(size: int, count: int) -> list[int]:
    """Return at most `count` factors of a size, as equal as possible, the smallest first."""
    if count == 1 or size == 1:
        return [size]
    most = min(int(size ** (1 / count) + 1e-9), _LARGEST_FACTOR)
    first = max(factor for factor in range(1, most + 1) if size % factor == 0)
    return [*([first] if first > 1 else []), *_factors(size // first, count - 1)]


def _parts_within(varying: Sequence[Digit], axis: Digit) -> list[Digit]:
    """Return the parts of digits that lie along an axis, major first."""
    found: list[Digit] = []
    for digit in varying:
        low, high = max(digit.stride, axis.stride), min(digit.stride * digit.size, axis.stride * axis.size)
        if low < high:
            found.append(Digit(high // low, low))
    return found


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """The seconds that the bytes take, and those that a collective takes however few they are: of start and hops.

    Let V be the bytes that all devices of a group have together, and W the bandwidth of a device along one axis in both
    directions. On closed rings, an all-gather and a reduce-scatter take V / (W axes), as a broadcast of V bytes and a
    reduction to one device do, and an all-reduce the sum of both. An all-to-all takes V max(sizes) / (4 N W), because
    all data for the other half crosses the middle of the longest axis. Source: ring algorithms in the notation of the
    scaling book; docs/costs.md.
    """

    bandwidth_seconds: float
    latency_seconds: float
    ramp_seconds: float = 0.0  # until a message has its full bandwidth

    @property
    def seconds(self) -> float:
        """The sum of these times."""
        return self.bandwidth_seconds + self.latency_seconds + self.ramp_seconds

    @property
    def is_latency_bound(self) -> bool:
        """Return whether the latency is larger, so that fewer bytes would be hardly faster."""
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


def torus_time(
    kind: CollectiveKind,
    result_bytes: float,
    lines: Sequence[TorusLine],
    torus: Torus,
    *,
    pods: int = 1,
    across_chip: bool = False,
) -> CollectiveTime:
    """Return the time of a collective other than a collective-permute along `lines`, one per torus axis.

    `result_bytes` is the size of the result on one device. Groups of devices on different pods first reduce, or last
    gather, inside of their pods. `across_chip`: whether a group has all devices of a chip; otherwise there are as many
    groups, which share the links.

    >>> from sdy.cost.machines.table import HARDWARE
    >>> torus = HARDWARE["tpu_v4p"].network
    >>> round(torus_time(CollectiveKind.ALL_GATHER, 9e6, [TorusLine(4, wraps=True)], torus).bandwidth_seconds, 6)
    0.000112
    """
    lines = [line for line in lines if line.size > 1]
    chip = torus.devices_per_chip if across_chip else 1
    inside = prod(line.size for line in lines) * chip
    if inside * pods == 1:
        return CollectiveTime(0.0, 0.0)
    hops = sum(_hops(line, torus) * line.stride for line in lines)
    latency = torus.start_seconds + hops * torus.hop_seconds
    sharing = torus.devices_per_chip // chip

    def gather(global_bytes: float) -> float:
        in_pod = _gather_seconds(global_bytes, lines, torus) * sharing / torus.efficiency
        on_chip = global_bytes * (1 - 1 / chip) / torus.chip_bandwidth if chip > 1 else 0.0
        between = global_bytes * (1 - 1 / pods) / inside / torus.network_bandwidth if pods > 1 else 0.0
        return max(in_pod, on_chip) + between

    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.COLLECTIVE_BROADCAST | CollectiveKind.COLLECTIVE_REDUCE:
            return CollectiveTime(gather(result_bytes), latency)
        case CollectiveKind.REDUCE_SCATTER:
            return CollectiveTime(gather(result_bytes * inside * pods), latency)
        case CollectiveKind.ALL_REDUCE:
            return CollectiveTime(2 * gather(result_bytes), latency + hops * torus.hop_seconds)
        case CollectiveKind.ALL_TO_ALL:
            loads = (_busiest_link(line, torus) * result_bytes / line.size * line.stride for line in lines)
            longest = max((load / torus.link_bandwidth for load in loads), default=0.0)
            between = result_bytes * (1 - 1 / pods) / torus.network_bandwidth if pods > 1 else 0.0
            return CollectiveTime(max(longest * torus.devices_per_chip / torus.efficiency, between), latency)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            raise ValueError("use permute_time for a collective-permute")


def switch_time(kind: CollectiveKind, result_bytes: float, group: SwitchGroup, switch: Switch) -> CollectiveTime:
    """Return the time of a collective other than a collective-permute on a switched network.

    `result_bytes` is the size of the result on one device. The traffic between nodes is shared evenly by the members in
    a node, and overlaps with the traffic inside of nodes.
    """
    devices = group.count * group.members
    share_inside, share_outside = 1 - 1 / group.members, 1 - 1 / group.count
    node, network = switch.node_bandwidth * switch.efficiency, switch.network_bandwidth * switch.network_efficiency
    latency = switch.start_seconds * (devices > 1)
    latency += switch.hop_seconds * group.members * (group.members > 1)
    latency += (switch.network_hop_seconds or switch.hop_seconds) * (devices - group.members)

    def gather(global_bytes: float) -> float:
        between_nodes = global_bytes * share_outside / (group.members * network)
        return max(global_bytes * share_inside / node, between_nodes)

    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.COLLECTIVE_BROADCAST | CollectiveKind.COLLECTIVE_REDUCE:
            return CollectiveTime(gather(result_bytes), latency)
        case CollectiveKind.REDUCE_SCATTER:
            return CollectiveTime(gather(result_bytes * devices), latency)
        case CollectiveKind.ALL_REDUCE:
            reduced = 2 * gather(result_bytes)
            if switch.reduction_bandwidth and group.count == 1 and devices > 1:
                reduced = min(reduced, result_bytes / switch.reduction_bandwidth)
            return CollectiveTime(reduced, latency, switch.ramp(result_bytes) if devices > 1 else 0.0)
        case CollectiveKind.ALL_TO_ALL:
            inside = result_bytes * (group.members - 1) / devices / node
            between_nodes = result_bytes * share_outside / network
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
    """Return the time of an all-gather in which each line takes a share of the bytes so that all end at once.

    It is never less than a device at the end of all lines needs to receive what the others have.
    """
    if not lines:
        return 0.0
    alone = (_hops(line, torus) * global_bytes / line.size * line.stride / torus.link_bandwidth for line in lines)
    speed = sum(1 / seconds for seconds in alone)
    received = global_bytes * (1 - 1 / prod(line.size for line in lines))
    links = sum((2 if line.wraps and torus.is_bidirectional else 1) / line.stride for line in lines)
    return max(1 / speed, received / (links * torus.link_bandwidth))


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
            groups_of_positions = [[self.positions[device] for device in group] for group in groups]
            self._varying[key] = tuple(
                ref
                for ref, digit in self.digits.items()
                if any(len(set(map(digit.of, group))) > 1 for group in groups_of_positions)
            )
        return self._varying[key]
