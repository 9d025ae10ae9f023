"""The cheapest moves of digits between two shardings on one mesh."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from math import prod
from operator import itemgetter

from sdy.model.axis import AxisRef
from sdy.model.collective import AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import DigitTuple, NumberedDigits, digits_of
from sdy.model.shape import Shape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.chains import EMPTY, DimSlots, Filling, SlotProblem, chains_of, common_slots
from sdy.partitioner.reshard.search import cheapest_moves, relevant_kinds
from sdy.partitioner.reshard.slot_moves import MoveKind, SlotMove


@dataclass(frozen=True, slots=True)
class MoveSequence:
    """Moves from a filling `start` of slots with digits."""

    digits: NumberedDigits
    slots: DimSlots
    start: Filling
    moves: tuple[SlotMove, ...]

    def price(self, shape: Shape) -> tuple[float, int]:
        """Return the elements of a tensor of `shape` that each device receives, and the number of collectives."""
        tensor = prod(1 if size is None else size for size in shape)
        total, count, filling = 0.0, 0, self.start
        for move in self.moves:
            before, after = (tensor / self._shards(each) for each in (filling, move.filling))
            left = [EMPTY if own != EMPTY else digit for digit, own in zip(filling, move.filling, strict=True)]
            received = {
                MoveKind.SLICE: 0.0,
                MoveKind.ALL_TO_ALL: before - before / self._shards(left),
                MoveKind.PERMUTE: before,
                MoveKind.GATHER: after - before,
            }[move.kind]
            total, count, filling = total + received, count + (move.kind is not MoveKind.SLICE), move.filling
        return total, count

    def first_slices(self) -> AxesPerDim:
        """Return the axes by which the first moves slice, those that fill adjacent slots together."""
        first = [move.filling for move in takewhile(lambda move: move.kind is MoveKind.SLICE, self.moves)]
        after = first[-1] if first else self.start
        runs: list[DigitTuple] = []
        for dim in range(self.slots.rank):
            slots = [(self.start[slot] == EMPTY != after[slot], after[slot]) for slot in self.slots.of_dim(dim)]
            for is_new, run in groupby(slots, itemgetter(0)):
                runs += [tuple(digit for _, digit in run)] if is_new else []
        return tuple(map(self.digits.join, runs))

    def _shards(self, filling: Sequence[int]) -> int:
        return prod(size for size, digit in zip(self.slots.sizes, filling, strict=True) if digit != EMPTY)


def find_moves(
    source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh, manual_axes: Collection[AxisRef]
) -> MoveSequence | None:
    """Return the cheapest moves; None if the two shardings have no common slots, or do not divide a dim that changes.

    Axes that neither sharding mentions may be used in between to save bytes, except `manual_axes`.
    """
    digits = digits_of([*source.axis_refs(), *target.axis_refs(), *manual_axes], mesh)
    if digits is None:
        return None
    before, after = ([digits.inside(dim.axes) for dim in sharding.dims] for sharding in (source, target))
    slots = common_slots(before, after, digits.sizes)
    if slots is None or not _divides_changed_dims(slots, before, after, shape):
        return None
    start, end = slots.filled(before), slots.filled(after)
    usable = digits.outside([*manual_axes, *source.unreduced, *target.unreduced])
    return MoveSequence(digits, slots, start, _moves(SlotProblem(start, end, slots.sizes, digits.sizes), set(usable)))


def _divides_changed_dims(
    slots: DimSlots, before: Sequence[DigitTuple], after: Sequence[DigitTuple], shape: Shape
) -> bool:
    return all(
        old == new or (size is not None and size % slots.shard_count(dim) == 0)
        for dim, (size, old, new) in enumerate(zip(shape, before, after, strict=True))
    )


def _moves(problem: SlotProblem, usable: set[int]) -> tuple[SlotMove, ...]:
    """Return the moves that solve a problem: those of the canonical problem with the same chains, renumbered."""
    chains = [chain for chain in chains_of(problem) if usable.issuperset(chain.digits)]
    kinds = [chain.kind for chain in chains]
    kept = relevant_kinds(kinds)
    digits: list[int] = []
    slots: list[int] = []
    for kind in kept:
        chain = chains.pop(kinds.index(kind))
        kinds.remove(kind)
        digits += chain.digits
        slots += chain.slots
    moves: list[SlotMove] = []
    filling = problem.filling
    for move in cheapest_moves(kept):
        next_filling = list(filling)
        for slot, digit in zip(slots, move.filling, strict=True):
            next_filling[slot] = EMPTY if digit == EMPTY else digits[digit]
        filling = tuple(next_filling)
        moves.append(SlotMove(move.kind, filling))
    return tuple(_one_slot_per_slice(problem.filling, merge_slices(moves)))


def merge_slices(moves: Iterable[SlotMove]) -> list[SlotMove]:
    """Return the moves with consecutive slices merged into one."""
    merged: list[SlotMove] = []
    for move in moves:
        if merged and merged[-1].kind is move.kind is MoveKind.SLICE:
            merged.pop()
        merged.append(move)
    return merged


def _one_slot_per_slice(filling: Filling, moves: Iterable[SlotMove]) -> Iterator[SlotMove]:
    """Yield the moves, with each slice split into one per slot; the major slots of a dim come first."""
    for move in moves:
        if move.kind is MoveKind.SLICE:
            changed = [slot for slot, pair in enumerate(zip(filling, move.filling, strict=True)) if pair[0] != pair[1]]
            for slot in changed:
                filling = (*filling[:slot], move.filling[slot], *filling[slot + 1 :])
                yield SlotMove(MoveKind.SLICE, filling)
        else:
            filling = move.filling
            yield move


def with_permute(sequence: MoveSequence) -> tuple[tuple[SlotMove, ...], int]:
    """Return the moves with a permute among them, and its index; that permute can also change the device order.

    If the moves have no permute, one that leaves the slots unchanged is inserted when the shards are smallest.
    """
    moves = sequence.moves
    kinds = [move.kind for move in moves]
    if MoveKind.PERMUTE in kinds:
        return moves, kinds.index(MoveKind.PERMUTE)
    index = next((index for index, kind in enumerate(kinds) if kind is not MoveKind.SLICE), len(kinds))
    filling = moves[index - 1].filling if index else sequence.start
    return (*moves[:index], SlotMove(MoveKind.PERMUTE, filling), *moves[index:]), index
