"""Balance of the sends of a reshard: how much each device sends, so that the busiest link carries as little as it can.

The sends of a block of `b` elements that `r` devices lack have `b * r` elements together. The holders of the block send
at least `b` of them; the rest may be forwarded by any device that lacks it, once it has its own part. These shares are
fluid, and rows and elements may miss them: then sends move one by one to other devices that have the part, until no
device sends too much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from sdy.model.devices.boxes import Box, boxes_of_range, volume

B = TypeVar("B", bound=Hashable)
ROUNDS = 100  # of balancing, which ends earlier when nothing is gained
GAIN = 1e-4  # the least share of the load of the busiest device that a round must save
GAP, GROUPS = 1e-2, 0.9  # the least gap between groups of devices, and the least load of a group that is examined


class Block(NamedTuple, Generic[B]):
    """A part of a tensor that lies in the shard `stored` by the holders, and that the receivers lack."""

    part: B
    elements: int
    stored: B
    holders: tuple[int, ...]
    receivers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shares(Generic[B]):
    """The elements that devices send.

    `first_sent` has, by stored shard and device, what a holder sends of it for the first time, and `sent_again` what it
    sends to further receivers. `first_received` has, by receivers and device, what the device receives from a holder
    and forwards to the other receivers, and `forwarded` what each device forwards. `direct` is, by block, what holders
    send to every receiver. `lower_bound` is what the busiest link carries at least, if no device receives what it does
    not need.
    """

    first_sent: dict[B, dict[int, float]]
    sent_again: dict[B, dict[int, float]]
    first_received: dict[tuple[int, ...], dict[int, float]]
    forwarded: dict[int, float]
    direct: tuple[float, ...]
    lower_bound: int

    def copy(self) -> Shares[B]:
        """Return a copy whose quotas can be used up."""
        first, again = (
            {key: dict(each) for key, each in quota.items()} for quota in (self.first_sent, self.sent_again)
        )
        received = {key: dict(each) for key, each in self.first_received.items()}
        return Shares(first, again, received, dict(self.forwarded), self.direct, self.lower_bound)


def balanced(blocks: Sequence[Block[B]], devices: Iterable[int]) -> Shares[B]:
    """Return how much each device sends: first in equal shares, then shifted from busier to less busy devices."""
    loads = _Loads(blocks)
    bound = _bound(blocks, len(set(devices)))
    loads.shift(bound)
    bound = max(bound, bound_of_busy(blocks, loads.load))
    again = {stored: dict.fromkeys(shares, 0.0) for stored, shares in loads.first_sent.items()}
    received: dict[tuple[int, ...], dict[int, float]] = {}
    forwarded: dict[int, float] = defaultdict(float)
    direct: list[float] = []
    for block, shares in zip(blocks, loads.forwarded, strict=True):
        others = len(block.receivers) - 1
        first = received.setdefault(block.receivers, dict.fromkeys(block.receivers, 0.0))
        for device in block.receivers:
            share = shares.get(device, 0.0)
            forwarded[device] += share
            first[device] += share / others if others else block.elements
        for device in block.holders:
            again[block.stored][device] += shares.get(device, 0.0)
        direct.append(sum(shares.get(device, 0.0) for device in block.holders) / others if others else 0.0)
    return Shares(loads.first_sent, again, received, forwarded, tuple(direct), bound)


def _bound(blocks: Sequence[Block[B]], device_count: int) -> int:
    """Return how many elements the busiest link carries at least.

    A device receives all that it lacks; the holders of a shard send each needed element once; and all devices
    together send what they receive together.
    """
    received: dict[int, int] = defaultdict(int)
    needed: dict[B, int] = defaultdict(int)
    holders = {block.stored: len(block.holders) for block in blocks}
    for block in blocks:
        needed[block.stored] += block.elements
        for device in block.receivers:
            received[device] += block.elements
    if not blocks:
        return 0
    sent = max(-(-amount // holders[stored]) for stored, amount in needed.items())
    return max(*received.values(), sent, -(-sum(received.values()) // device_count))


def bound_of_busy(blocks: Sequence[Block[B]], load: Mapping[int, float]) -> int:
    """Return what the busiest of a group of devices sends at least: what only they can send, divided among them.

    The groups are the devices above each level of load where there is a gap.
    """
    ordered = sorted(load, key=lambda device: -load[device])
    best, busy = 0, set[int]()
    needed: dict[B, int] = defaultdict(int)
    holders = {block.stored: block.holders for block in blocks}
    for block in blocks:
        needed[block.stored] += block.elements
    for device, following in pairwise((*ordered, None)):
        assert device is not None
        busy.add(device)
        if following is not None and load[following] > load[device] * (1 - GAP):
            continue
        forced = sum(amount for stored, amount in needed.items() if busy.issuperset(holders[stored]))
        for block in blocks:
            if busy.issuperset(block.receivers) and busy.issuperset(block.holders):
                forced += block.elements * (len(block.receivers) - 1)
        best = max(best, -(-forced // len(busy)))
        if load[device] < GROUPS * load[ordered[0]]:
            return best
    return best


class _Loads(Generic[B]):
    """The amounts that each device sends: of stored shards for the first time, and of blocks to further receivers."""

    def __init__(self, blocks: Sequence[Block[B]]) -> None:
        self._blocks = blocks
        self.load: dict[int, float] = defaultdict(float)
        self.first_sent: dict[B, dict[int, float]] = {}
        self.forwarded: list[dict[int, float]] = []
        needed: dict[B, int] = defaultdict(int)
        for block in blocks:
            needed[block.stored] += block.elements
            self.first_sent[block.stored] = dict.fromkeys(block.holders, 0.0)
            count = len(block.receivers)
            share = block.elements * (count - 1) / count
            self.forwarded.append(dict.fromkeys(block.receivers, share) if count > 1 else {})
            self._add(self.forwarded[-1], 1)
        for stored, shares in self.first_sent.items():
            shares.update(dict.fromkeys(shares, needed[stored] / len(shares)))
            self._add(shares, 1)

    def _add(self, shares: dict[int, float], sign: int) -> None:
        for device, share in shares.items():
            self.load[device] += sign * share

    def shift(self, enough: int) -> None:
        """Shift sends from busier to less busy devices, until none sends more than `enough` or nothing is gained."""
        most = max(self.load.values(), default=0.0)
        for _ in range(ROUNDS):
            if most <= enough:
                return
            for block, shares in zip(self._blocks, self.forwarded, strict=True):
                if shares:
                    self._level(shares, (*block.receivers, *block.holders))
            for shares in self.first_sent.values():
                self._level(shares, tuple(shares))
            before, most = most, max(self.load.values())
            if before - most < GAIN * most:
                return

    def _level(self, shares: dict[int, float], devices: Sequence[int]) -> None:
        """Distribute shares anew, so that the devices that get some have the same load then."""
        self._add(shares, -1)
        amount = sum(shares.values())
        ordered = sorted(devices, key=lambda device: self.load[device])
        level, total = 0.0, 0.0
        for count, device in enumerate(ordered, start=1):
            total += self.load[device]
            level = (amount + total) / count
            if count == len(ordered) or level <= self.load[ordered[count]]:
                break
        shares.clear()
        shares.update({device: max(0.0, level - self.load[device]) for device in ordered})
        self._add(shares, 1)


MOST_MOVES = 2000


class _Move(NamedTuple):
    """A send of a box to a target that another device takes over."""

    box: Box
    target: int
    sender: int


def levelled(
    senders: Mapping[Box, Mapping[int, int]], holders: Callable[[Box], Iterable[int]], most: int
) -> dict[Box, dict[int, int]]:
    """Return who sends each box to each target, such that no device sends more than `most` elements if that is found.

    `senders` has the first choice, and `holders` returns the devices that have a box from the beginning. A device that
    receives a box may forward it, unless it receives it from those whom it sends it to.
    """
    found = {box: dict(each) for box, each in senders.items()}
    load: dict[int, int] = defaultdict(int)
    for box, each in found.items():
        for sender in each.values():
            load[sender] += volume(box)
    for _ in range(MOST_MOVES):
        busy = sorted((device for device in load if load[device] > most), key=lambda device: -load[device])
        move = next(filter(None, (_best_move(found, holders, load, device) for device in busy)), None)
        if move is None:
            break
        sender = found[move.box][move.target]
        amount = max(1, min(load[sender] - most, (load[sender] - load[move.sender]) // 2))
        moved = min(amount, volume(move.box))
        receivers = found.pop(move.box)
        for part in boxes_of_range(move.box, 0, moved):
            found[part] = {**receivers, move.target: move.sender}
        for part in boxes_of_range(move.box, moved, volume(move.box)):
            found[part] = dict(receivers)
        load[sender] -= moved
        load[move.sender] += moved
    return found


def _best_move(
    senders: Mapping[Box, Mapping[int, int]], holders: Callable[[Box], Iterable[int]], load: dict[int, int], busy: int
) -> _Move | None:
    """Return the largest send that a busy device can leave to the least busy other one; None if all are as busy."""
    moves = list(_moves(senders, holders, busy))
    least = min((load[each.sender] for each in moves), default=load[busy])
    if load[busy] - least < 2:
        return None
    return max((each for each in moves if load[each.sender] == least), key=lambda each: volume(each.box))


def _moves(
    senders: Mapping[Box, Mapping[int, int]], holders: Callable[[Box], Iterable[int]], busy: int
) -> Iterator[_Move]:
    """Yield the sends of a device that others could take over."""
    for box, each in senders.items():
        if busy in each.values():
            having = [*holders(box), *each]
            for target in (target for target, sender in each.items() if sender == busy):
                yield from (
                    _Move(box, target, other)
                    for other in having
                    if other not in (busy, target) and not _gets_from(each, other, target)
                )


def _gets_from(senders: Mapping[int, int], device: int, source: int) -> bool:
    """Return whether a device gets a box from a source, directly or through others."""
    while device in senders:
        device = senders[device]
        if device == source:
            return True
    return False
