"""Fuse a permutation of devices with the all-to-all after or before it: the groups, and the half each device keeps.

In an all-to-all, each sender of a group sends block i to receiver i of the group. Senders and receivers are the same
devices in the same order; a permutation before or after changes one of them. Two groups that send to each other, or
each to itself, form one group of twice the size, in which devices send their blocks to both halves and keep the blocks
from one half:

    (0, 1) to (2, 3) and (2, 3) to (0, 1):  (0, 1, 2, 3), where 0 and 1 keep the second half, 2 and 3 the first

It sends as many bytes as both: 2k - 1 blocks, against k by the permute and k - 1 by the all-to-all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DeviceIds = tuple[int, ...]  # device ids


@dataclass(frozen=True, slots=True)
class Exchange:
    """One all-to-all. A group has one or two `halves`; `kept` lists for each device the half that it keeps."""

    groups: tuple[DeviceIds, ...]
    halves: int
    kept: tuple[int, ...]


def permuted_before(groups: Sequence[DeviceIds], pairs: Sequence[tuple[int, int]]) -> Exchange | None:
    """Return the exchange equal to a permute by (source, target) pairs and then an all-to-all; None if none is."""
    source_of = {target: source for source, target in pairs}
    return _exchange([(_moved(group, source_of), group) for group in groups])


def permuted_after(groups: Sequence[DeviceIds], pairs: Sequence[tuple[int, int]]) -> Exchange | None:
    """Return the exchange equal to an all-to-all and then a permute by (source, target) pairs; None if none is."""
    return _exchange([(group, _moved(group, dict(pairs))) for group in groups])


def _moved(group: DeviceIds, to: Mapping[int, int]) -> DeviceIds | None:
    return tuple(to[device] for device in group) if all(device in to for device in group) else None


def _exchange(flows: Sequence[tuple[DeviceIds | None, DeviceIds | None]]) -> Exchange | None:
    """Return the exchange that sends from each group of senders to its receivers; None if groups do not pair up."""
    receivers = {senders: receivers for senders, receivers in flows if senders is not None and receivers is not None}
    devices = sorted(device for group in receivers for device in group)
    if len(receivers) < len(flows) or devices != list(range(len(devices))):
        return None
    to_itself = [group for group, others in receivers.items() if group == others]
    to_other = [(group, others) for group, others in receivers.items() if receivers.get(others) == group < others]
    if len(to_itself) + 2 * len(to_other) < len(receivers):
        return None
    if not to_other:
        return Exchange(tuple(to_itself), 1, (0,) * len(devices))
    if len(to_itself) % 2:
        return None
    by_themselves = list(zip(to_itself[::2], to_itself[1::2], strict=True))
    kept = {device: half for pair in by_themselves for half, group in enumerate(pair) for device in group}
    kept |= {device: 1 - half for pair in to_other for half, group in enumerate(pair) for device in group}
    groups = tuple(first + second for first, second in (*by_themselves, *to_other))
    return Exchange(groups, 2, tuple(kept[device] for device in devices))
