"""Split dims at slots while a tensor is resharded, so that each move between slots is a collective.

A collective of `sdy` adds axes at the minor end of a dim, or removes them there. A move of a slot before the end is
one too, once the tensor is reshaped so that a dim ends at that slot. Such a reshape moves no elements within a device.
As few dims as possible are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import assert_never

from sdy.model.collective import AllGather, AllSlice, AllToAll, AllToAllParam, Collective, CollectivePermute
from sdy.model.mesh_digits import DigitTuple, NumberedDigits
from sdy.model.shape import Shape
from sdy.partitioner.reshard.chains import EMPTY, DimSlots, Filling
from sdy.partitioner.reshard.slot_moves import MoveKind, SlotMove


class DimSplit:
    """A split of the dims of a tensor. A dim ends after each slot in `ends`; the last dim contains the rest.

    `slots_per_dim` are the slots of each dim after the split.
    """

    def __init__(self, slots: DimSlots, ends: frozenset[int] = frozenset()) -> None:
        self.slots = slots
        self.ends = ends
        self.slots_per_dim: list[list[int]] = []
        for dim in range(slots.rank):
            self.slots_per_dim.append([])
            for slot in slots.of_dim(dim):
                self.slots_per_dim[-1].append(slot)
                if slot in ends:
                    self.slots_per_dim.append([])

    def shape(self, unsplit: Shape) -> Shape:
        """Return the global shape after the split; `unsplit` is the one before."""
        sizes: list[int | None] = []
        for dim, left in enumerate(unsplit):
            size = 1
            for slot in self.slots.of_dim(dim):
                size *= self.slots.sizes[slot]
                if slot in self.ends:
                    assert left is not None  # a dim of unknown size has no slots
                    sizes.append(size)
                    left, size = left // size, 1
            sizes.append(left)
        return tuple(sizes)

    def digits_per_dim(self, filling: Filling) -> list[DigitTuple] | None:
        """Return the digits that each dim is sharded along; None if an empty slot is before one that is not."""
        found: list[DigitTuple] = []
        for slots in self.slots_per_dim:
            held = [filling[slot] for slot in slots]
            digits = tuple([digit for digit in held if digit != EMPTY])
            if EMPTY in held[: len(digits)]:
                return None
            found.append(digits)
        return found

    def collective(self, filling: Filling, move: SlotMove, digits: NumberedDigits) -> Collective | None:
        """Return the collective that performs a move from `filling`; None if no collective does in this split."""
        before, after = self.digits_per_dim(filling), self.digits_per_dim(move.filling)
        if before is None or after is None:
            return None
        match move.kind:
            case MoveKind.SLICE:
                added = _suffixes(before, after)
                return None if added is None else AllSlice(tuple(digits.join(own) for own in added))
            case MoveKind.GATHER:
                removed = _suffixes(after, before)
                return None if removed is None else AllGather(tuple(digits.join(own) for own in removed))
            case MoveKind.ALL_TO_ALL:
                params = _moves_between_dims(before, after)
                return None if params is None else AllToAll(tuple(_param(param, digits) for param in params))
            case MoveKind.PERMUTE:
                return CollectivePermute()
            case _:
                assert_never(move.kind)

    def can_perform(self, filling: Filling, moves: Sequence[SlotMove], digits: NumberedDigits) -> bool:
        """Return whether each of the moves is one collective, the first one from `filling`."""
        for move in moves:
            if self.collective(filling, move, digits) is None:
                return False
            filling = move.filling
        return True


def coarsest_split(slots: DimSlots, filling: Filling, moves: Sequence[SlotMove], digits: NumberedDigits) -> DimSplit:
    """Return a split in which all moves from `filling` are collectives, and in which no one or two ends can be removed.

    Two ends must be removed together if digits on both sides of one move together between two dims.
    """
    ends = frozenset(range(len(slots.sizes)))
    for one, other in combinations_with_replacement(sorted(ends), 2):
        joined = ends - {one, other}
        if ends >= {one, other} and DimSplit(slots, joined).can_perform(filling, moves, digits):
            ends = joined
    return DimSplit(slots, ends)


def _suffixes(shorter: Sequence[DigitTuple], longer: Sequence[DigitTuple]) -> list[DigitTuple] | None:
    """Return each longer tuple without the shorter one at its beginning; None if one does not begin with it."""
    if any(long[: len(short)] != short for short, long in zip(shorter, longer, strict=True)):
        return None
    return [long[len(short) :] for short, long in zip(shorter, longer, strict=True)]


def _moves_between_dims(
    before: Sequence[DigitTuple], after: Sequence[DigitTuple]
) -> list[tuple[DigitTuple, int, int]] | None:
    """Return digits that move from the end of one dim to that of another, with both dims; None for other changes."""
    removed: dict[DigitTuple, int] = {}
    added: dict[DigitTuple, int] = {}
    for dim, (old, new) in enumerate(zip(before, after, strict=True)):
        kept = min(len(old), len(new))
        if old[:kept] != new[:kept]:
            return None
        if len(old) > kept:
            removed[old[kept:]] = dim
        elif len(new) > kept:
            added[new[kept:]] = dim
    if removed.keys() != added.keys():
        return None
    return [(moved, dim, added[moved]) for moved, dim in removed.items()]


def _param(moved: tuple[DigitTuple, int, int], digits: NumberedDigits) -> AllToAllParam:
    own, source, target = moved
    return AllToAllParam(digits.join(own), source, target)
