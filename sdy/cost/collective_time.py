"""How long a collective takes on the links of a machine: the larger of what bandwidth and what latency ask for.

Source: ring algorithms, in the notation of the scaling book. V is what all devices of a group hold together, W what a
device sends along one axis in both directions. On closed rings an all-gather and a reduce-scatter take V / (W axes),
an all-reduce both; an all-to-all takes V max(sizes) / (4 N W), for the middle of the longest axis is what everything
must cross. See docs/costs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Switch, Torus


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """Seconds that the bytes need, and seconds that the hops need: they pass in the meantime."""

    bandwidth_seconds: float
    latency_seconds: float

    @property
    def seconds(self) -> float:
        """The larger one."""
        return max(self.bandwidth_seconds, self.latency_seconds)

    @property
    def is_latency_bound(self) -> bool:
        """Whether fewer bytes would take as long."""
        return self.latency_seconds > self.bandwidth_seconds


@dataclass(frozen=True, slots=True)
class TorusLine:
    """The devices of a group along one axis of a torus: every `stride`-th of the axis, on a ring where it `wraps`."""

    size: int
    wraps: bool
    stride: int = 1  # groups that lie between one another share links


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """A group of devices that a switch joins: how many nodes it spreads over, and its members in each."""

    count: int
    members: int


@dataclass(frozen=True, slots=True)
class PermuteLoad:
    """The messages of a permutation: hops of the longest way, and messages that the busiest link carries."""

    hops: int
    messages: int


def torus_time(kind: CollectiveKind, result_bytes: float, rows: Sequence[TorusLine], torus: Torus) -> CollectiveTime:
    """Of a collective other than a permutation along `rows`, one per axis; `result_bytes` are those of one device.

    >>> from sdy.cost.hardware import HARDWARE
    >>> torus = HARDWARE["tpu_v4p"].network
    >>> round(torus_time(CollectiveKind.ALL_GATHER, 9e6, [TorusLine(4, wraps=True)], torus).seconds, 9)
    0.0001
    """
    rows = [row for row in rows if row.size > 1]
    if not rows:
        return CollectiveTime(0.0, 0.0)
    once = sum(_hops(row, torus) * row.stride for row in rows) * torus.hop_seconds
    match kind:
        case CollectiveKind.ALL_GATHER:
            return CollectiveTime(_gather_seconds(result_bytes, rows, torus), once)
        case CollectiveKind.REDUCE_SCATTER:
            whole = result_bytes * prod(row.size for row in rows)
            return CollectiveTime(_gather_seconds(whole, rows, torus), once)
        case CollectiveKind.ALL_REDUCE:
            return CollectiveTime(2 * _gather_seconds(result_bytes, rows, torus), 2 * once)
        case CollectiveKind.ALL_TO_ALL:
            return CollectiveTime(max(_exchange_seconds(result_bytes, row, torus) for row in rows), once)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            raise ValueError("a permutation takes a route: see permute_time")


def switch_time(kind: CollectiveKind, result_bytes: float, nodes: SwitchGroup, switch: Switch) -> CollectiveTime:
    """Of a collective other than a permutation; `result_bytes` are those of one device.

    What nodes send one another is shared evenly by the members in a node, and passes while these talk to one another.
    """
    devices = nodes.count * nodes.members
    inside, outside = 1 - 1 / nodes.members, 1 - 1 / nodes.count
    once = switch.hop_seconds * ((nodes.members > 1) + (nodes.count > 1))

    def gather(whole: float) -> float:
        between = whole * outside / (nodes.members * switch.network_bandwidth)
        return max(whole * inside / switch.node_bandwidth, between)

    match kind:
        case CollectiveKind.ALL_GATHER:
            return CollectiveTime(gather(result_bytes), once)
        case CollectiveKind.REDUCE_SCATTER:
            return CollectiveTime(gather(result_bytes * devices), once)
        case CollectiveKind.ALL_REDUCE:
            return CollectiveTime(2 * gather(result_bytes), 2 * once)
        case CollectiveKind.ALL_TO_ALL:
            to_own_node = result_bytes * (nodes.members - 1) / devices
            between = result_bytes * outside
            return CollectiveTime(max(to_own_node / switch.node_bandwidth, between / switch.network_bandwidth), once)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            raise ValueError("a permutation takes a route: see permute_time")


def permute_time(result_bytes: float, route: PermuteLoad, link_bandwidth: float, hop_seconds: float) -> CollectiveTime:
    """Of a permutation, each message of which has `result_bytes`."""
    return CollectiveTime(result_bytes * route.messages / link_bandwidth, route.hops * hop_seconds)


def _hops(row: TorusLine, torus: Torus) -> int:
    """Steps until every device has heard of every other one of its row."""
    return row.size // 2 if row.wraps and torus.is_bidirectional else row.size - 1


def _gather_seconds(whole_bytes: float, rows: Sequence[TorusLine], torus: Torus) -> float:
    """Each row takes the part of the bytes that fits its speed, so that all end at once."""
    alone = (_hops(row, torus) * whole_bytes / row.size * row.stride / torus.link_bandwidth for row in rows)
    speed = sum(1 / seconds if seconds else 0.0 for seconds in alone)
    return 1 / speed if speed else 0.0


def _exchange_seconds(result_bytes: float, row: TorusLine, torus: Torus) -> float:
    """What an all-to-all sends over the busiest link of a row, where each member has as much for every other."""
    return _busiest_link(row, torus) * result_bytes / row.size * row.stride / torus.link_bandwidth


def _busiest_link(row: TorusLine, torus: Torus) -> float:
    """Messages over it in one direction, where every device of the row has one for every other."""
    if not row.wraps:
        return (row.size // 2) * ((row.size + 1) // 2)
    if not torus.is_bidirectional:
        return row.size * (row.size - 1) / 2
    return row.size**2 // 4 / 2  # half of the messages to the device opposite go either way
