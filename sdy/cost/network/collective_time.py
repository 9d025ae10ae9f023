"""The time of a collective on the links of a machine: the larger of its bandwidth time and its latency.

Let V be the bytes that all devices of a group have together, and W the bandwidth of a device along one axis in both
directions. On closed rings, an all-gather and a reduce-scatter take V / (W axes), and an all-reduce the sum of both. An
all-to-all takes V max(sizes) / (4 N W), because all data for the other half crosses the middle of the longest axis.
Source: ring algorithms in the notation of the scaling book; docs/costs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Switch, Torus


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """The seconds that the bytes take and those that the hops take, which overlap."""

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
