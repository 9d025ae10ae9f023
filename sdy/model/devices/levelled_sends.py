"""Repair of the sends of a reshard: parts are sent by other devices that have them, until no device sends too much.

The shares of `balanced_sends` are fluid, and rows and elements may miss them: then sends move one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sdy.model.devices.boxes import Box, boxes_of_range, volume

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
