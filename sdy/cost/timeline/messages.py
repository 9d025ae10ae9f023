"""The time of messages between any devices of a machine, such as those of a transfer between two meshes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sdy.cost.hardware import Network, Torus


class Message(NamedTuple):
    """Bytes that one device sends to another one, by their numbers on the machine."""

    source: int
    target: int
    bytes: float


class _Link(NamedTuple):
    bandwidth: float  # bytes a second of a device in one direction
    seconds: float  # of the first byte


def seconds_of_messages(messages: Iterable[Message], network: Network) -> float:
    """Return when the last message has arrived, if all are sent at once; what a device sends itself takes no time.

    Devices of a node, or of a pod, use its links, and others the network between them. A device sends and receives at
    the same time; what it sends over the links of one kind shares their bandwidth. Contention between devices of a
    torus is left out.
    """
    used: dict[tuple[bool, int, bool], float] = defaultdict(float)  # by whether it is near, device and direction
    for message in messages:
        if message.source != message.target and message.bytes:
            near = _domain(message.source, network) == _domain(message.target, network)
            used[near, message.source, False] += message.bytes
            used[near, message.target, True] += message.bytes
    links = {near: _link(network, near=near) for near in {near for near, _, _ in used}}
    longest = max((amount / links[near].bandwidth for (near, _, _), amount in used.items()), default=0.0)
    return longest + max((link.seconds for link in links.values()), default=0.0)


def _domain(device: int, network: Network) -> int:
    size = network.pod_size if isinstance(network, Torus) else network.node_size
    return device // size if size else 0


def _link(network: Network, *, near: bool) -> _Link:
    if isinstance(network, Torus):
        bandwidth = network.link_bandwidth * network.efficiency
        if not near and network.network_bandwidth:
            bandwidth = network.network_bandwidth
        return _Link(bandwidth, network.start_seconds + network.hop_seconds)
    if near:
        return _Link(network.node_bandwidth * network.efficiency, network.start_seconds + network.hop_seconds)
    hop = network.network_hop_seconds or network.hop_seconds
    return _Link(network.network_bandwidth * network.network_efficiency, network.start_seconds + hop)
