"""The cheapest moves between two fillings of slots, by looking at every move there is: simple, for small meshes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, permutations
from math import prod

from sdy.partitioner.reshard.chains import Ends
from sdy.partitioner.reshard.search import Move, MoveKind
from sdy.partitioner.reshard.slots import EMPTY, Filling

Price = tuple[Fraction, int]  # elements received, as a fraction of the tensor; collectives


def price_of(moves: tuple[Move, ...], ends: Ends) -> Price:
    """What moves cost that lead from one end to the other. Each must be what its kind says."""
    total, steps, before = Fraction(0), 0, ends.filling
    for move in moves:
        price = _price(move, before, ends)
        total, steps, before = total + price, steps + (move.kind is not MoveKind.SLICE), move.filling
    assert before == ends.wanted
    return total, steps


def _price(move: Move, before: Filling, ends: Ends) -> Fraction:
    after = move.filling
    tiles = _tile(before, ends), _tile(after, ends)
    filled = [{slot for slot, digit in enumerate(filling) if digit != EMPTY} for filling in (before, after)]
    stayed = all(before[slot] == after[slot] for slot in filled[0] & filled[1])
    match move.kind:
        case MoveKind.SLICE:
            assert stayed
            assert filled[0] < filled[1]
            return Fraction(0)
        case MoveKind.GATHER:
            assert stayed
            assert filled[0] > filled[1]
            return tiles[1] - tiles[0]
        case MoveKind.ALL_TO_ALL:
            assert stayed
            assert sorted(before) == sorted(after)
            assert tiles[0] == tiles[1]
            moved = prod(ends.slot_sizes[slot] for slot in filled[0] - filled[1])
            return tiles[0] * Fraction(moved - 1, moved)
        case MoveKind.PERMUTE:
            assert filled[0] == filled[1]
            return tiles[0]


def least_price(ends: Ends) -> Price:
    """The least price of any moves, by a search in the order of price alone, under the bound on tiles."""
    largest = max(_tile(ends.filling, ends), _tile(ends.wanted, ends))
    queue: list[tuple[Fraction, int, Filling]] = [(Fraction(0), 0, ends.filling)]
    seen: set[Filling] = set()
    while True:
        paid, steps, filling = heappop(queue)
        if filling == ends.wanted:
            return paid, steps
        if filling in seen:
            continue
        seen.add(filling)
        for move in _moves(filling, ends):
            if move.filling not in seen and _tile(move.filling, ends) <= largest:
                price = paid + _price(move, filling, ends)
                heappush(queue, (price, steps + (move.kind is not MoveKind.SLICE), move.filling))


def _tile(filling: Filling, ends: Ends) -> Fraction:
    return Fraction(1, prod(size for size, digit in zip(ends.slot_sizes, filling, strict=True) if digit != EMPTY))


def _moves(filling: Filling, ends: Ends) -> Iterator[Move]:
    filled = [slot for slot, digit in enumerate(filling) if digit != EMPTY]
    empty = [slot for slot, digit in enumerate(filling) if digit == EMPTY]
    loose = [digit for digit in range(len(ends.digit_sizes)) if digit not in filling]
    for digit in loose:
        yield from _put(MoveKind.SLICE, filling, ends, (), empty, (digit,))
    for count in range(1, len(filled) + 1):
        for slots in combinations(filled, count):
            digits = tuple(filling[slot] for slot in slots)
            yield from _put(MoveKind.GATHER, filling, ends, slots, [], ())
            yield from _put(MoveKind.ALL_TO_ALL, filling, ends, slots, empty, digits)
    for digits in permutations(range(len(ends.digit_sizes)), len(filled)):
        after = dict(zip(filled, digits, strict=True))
        if _fit(after, ends):
            yield Move(MoveKind.PERMUTE, tuple(after.get(slot, EMPTY) for slot in range(len(filling))))


def _put(
    kind: MoveKind, filling: Filling, ends: Ends, cleared: tuple[int, ...], places: list[int], digits: tuple[int, ...]
) -> Iterator[Move]:
    """Clear some slots, and put digits into any of `places`."""
    for slots in permutations(places, len(digits)):
        changes = {**dict.fromkeys(cleared, EMPTY), **dict(zip(slots, digits, strict=True))}
        if _fit(changes, ends):
            yield Move(kind, tuple(changes.get(slot, digit) for slot, digit in enumerate(filling)))


def _fit(changes: dict[int, int], ends: Ends) -> bool:
    return all(digit == EMPTY or ends.slot_sizes[slot] == ends.digit_sizes[digit] for slot, digit in changes.items())
