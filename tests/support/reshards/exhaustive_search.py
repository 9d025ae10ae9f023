"""Find the cheapest moves between two fillings of slots by trying every move: simple, for small meshes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, permutations
from math import prod

from sdy.partitioner.reshard.chains import EMPTY, Filling, SlotProblem
from sdy.partitioner.reshard.slot_moves import MoveKind, SlotMove

Price = tuple[Fraction, int]  # elements received, as a fraction of the tensor, and number of collectives


def price_of(moves: tuple[SlotMove, ...], problem: SlotProblem) -> Price:
    """Return the cost of moves that solve a problem, after checking that each move is of its kind."""
    total, steps, before = Fraction(0), 0, problem.filling
    for move in moves:
        price = _price(move, before, problem)
        total, steps, before = total + price, steps + (move.kind is not MoveKind.SLICE), move.filling
    assert before == problem.target
    return total, steps


def _price(move: SlotMove, before: Filling, problem: SlotProblem) -> Fraction:
    after = move.filling
    sizes = _shard_size(before, problem), _shard_size(after, problem)
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
            return sizes[1] - sizes[0]
        case MoveKind.ALL_TO_ALL:
            assert stayed
            assert sorted(before) == sorted(after)
            assert sizes[0] == sizes[1]
            moved = prod(problem.slot_sizes[slot] for slot in filled[0] - filled[1])
            return sizes[0] * Fraction(moved - 1, moved)
        case MoveKind.PERMUTE:
            assert filled[0] == filled[1]
            return sizes[0]


def least_price(problem: SlotProblem) -> Price:
    """Return the least price of any moves: a search in order of price, with bounded shard sizes."""
    largest = max(_shard_size(problem.filling, problem), _shard_size(problem.target, problem))
    queue: list[tuple[Fraction, int, Filling]] = [(Fraction(0), 0, problem.filling)]
    seen: set[Filling] = set()
    while True:
        paid, steps, filling = heappop(queue)
        if filling == problem.target:
            return paid, steps
        if filling in seen:
            continue
        seen.add(filling)
        for move in _moves(filling, problem):
            if move.filling not in seen and _shard_size(move.filling, problem) <= largest:
                price = paid + _price(move, filling, problem)
                heappush(queue, (price, steps + (move.kind is not MoveKind.SLICE), move.filling))


def _shard_size(filling: Filling, problem: SlotProblem) -> Fraction:
    return Fraction(1, prod(size for size, digit in zip(problem.slot_sizes, filling, strict=True) if digit != EMPTY))


def _moves(filling: Filling, problem: SlotProblem) -> Iterator[SlotMove]:
    filled = [slot for slot, digit in enumerate(filling) if digit != EMPTY]
    empty = [slot for slot, digit in enumerate(filling) if digit == EMPTY]
    idle = [digit for digit in range(len(problem.digit_sizes)) if digit not in filling]
    for digit in idle:
        yield from _fillings(MoveKind.SLICE, filling, problem, (), empty, (digit,))
    for count in range(1, len(filled) + 1):
        for slots in combinations(filled, count):
            digits = tuple(filling[slot] for slot in slots)
            yield from _fillings(MoveKind.GATHER, filling, problem, slots, [], ())
            yield from _fillings(MoveKind.ALL_TO_ALL, filling, problem, slots, empty, digits)
    for digits in permutations(range(len(problem.digit_sizes)), len(filled)):
        after = dict(zip(filled, digits, strict=True))
        if _fit(after, problem):
            yield SlotMove(MoveKind.PERMUTE, tuple(after.get(slot, EMPTY) for slot in range(len(filling))))


def _fillings(
    kind: MoveKind,
    filling: Filling,
    problem: SlotProblem,
    cleared: tuple[int, ...],
    available: list[int],
    digits: tuple[int, ...],
) -> Iterator[SlotMove]:
    """Clear some slots, and fill any of the `available` slots with digits."""
    for slots in permutations(available, len(digits)):
        changes = {**dict.fromkeys(cleared, EMPTY), **dict(zip(slots, digits, strict=True))}
        if _fit(changes, problem):
            yield SlotMove(kind, tuple(changes.get(slot, digit) for slot, digit in enumerate(filling)))


def _fit(changes: dict[int, int], problem: SlotProblem) -> bool:
    return all(
        digit == EMPTY or problem.slot_sizes[slot] == problem.digit_sizes[digit] for slot, digit in changes.items()
    )
