"""A permutation of devices before or behind an all-to-all, in the all-to-all: who takes part, and what each keeps.

In an all-to-all, part i of what each sender of a group has goes to receiver i of the group. Senders and receivers are
the same devices in the same order; with a permutation before or behind it they are not. Two groups of which each sends
to the other, or to itself, make one group of twice the size, where devices send their parts to both halves and keep
what comes from one:

    (0, 1) to (2, 3) and (2, 3) to (0, 1):  (0, 1, 2, 3), of which 0 and 1 keep the second half, 2 and 3 the first

It sends as many bytes as both do: 2k - 1 parts, k by a permute of k parts and k - 1 by the all-to-all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Group = tuple[int, ...]  # device ids


@dataclass(frozen=True, slots=True)
class Exchange:
    """One all-to-all. A group is one or two `halves`; `kept` says for each device, in order, from which it keeps."""

    groups: tuple[Group, ...]
    halves: int
    kept: tuple[int, ...]


def permuted_before(groups: Sequence[Group], pairs: Sequence[tuple[int, int]]) -> Exchange | None:
    """The exchange that does first what pairs of source and target say, then an all-to-all; None where none does."""
    source_of = {target: source for source, target in pairs}
    return _exchange([(_moved(group, source_of), group) for group in groups])


def permuted_behind(groups: Sequence[Group], pairs: Sequence[tuple[int, int]]) -> Exchange | None:
    """The exchange that does first an all-to-all, then what pairs of source and target say; None where none does."""
    return _exchange([(group, _moved(group, dict(pairs))) for group in groups])


def _moved(group: Group, to: Mapping[int, int]) -> Group | None:
    return tuple(to[device] for device in group) if all(device in to for device in group) else None


def _exchange(flows: Sequence[tuple[Group | None, Group | None]]) -> Exchange | None:
    """From senders to receivers."""
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
