"""Which slots are dims of their own while a tensor is resharded, and what a move is called there.

A collective of `sdy` adds axes at the minor end of a dim, or takes them off there. A move that reaches a slot before
the end is one too, once the tensor is reshaped so that a dim ends at that slot. On one device such a reshape of shards
does nothing. As few dims as possible are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import assert_never

from sdy.model.collective import AllGather, AllSlice, AllToAll, AllToAllParam, Collective, CollectivePermute
from sdy.model.shape import Shape
from sdy.partitioner.reshard.digits import Cut, Digits
from sdy.partitioner.reshard.search import Move, MoveKind
from sdy.partitioner.reshard.slots import EMPTY, Filling, Slots


class Layout:
    """A split of dims. `ends` has the slots behind which a dim ends; the last dim of each dim has the rest of it.

    `parts` are the slots of each dim.
    """

    def __init__(self, slots: Slots, ends: frozenset[int] = frozenset()) -> None:
        self.slots = slots
        self.ends = ends
        self.parts: list[list[int]] = []
        for dim in range(slots.rank):
            self.parts.append([])
            for slot in slots.of_dim(dim):
                self.parts[-1].append(slot)
                if slot in ends:
                    self.parts.append([])

    def shape(self, whole: Shape) -> Shape:
        """The shape of the tensor, `whole` being the one without splits."""
        sizes: list[int | None] = []
        for dim, left in enumerate(whole):
            size = 1
            for slot in self.slots.of_dim(dim):
                size *= self.slots.sizes[slot]
                if slot in self.ends:
                    assert left is not None  # a dim of unknown size has no slots
                    sizes.append(size)
                    left, size = left // size, 1
            sizes.append(left)
        return tuple(sizes)

    def cuts(self, filling: Filling) -> list[Cut] | None:
        """The digits that cut each dim; None where a slot is empty in front of one that is not."""
        cuts: list[Cut] = []
        for part in self.parts:
            held = [filling[slot] for slot in part]
            cut = tuple([digit for digit in held if digit != EMPTY])
            if EMPTY in held[: len(cut)]:
                return None
            cuts.append(cut)
        return cuts

    def collective(self, before: Filling, move: Move, digits: Digits) -> Collective | None:
        """The collective that does a move; None where there is none in this layout."""
        given, out = self.cuts(before), self.cuts(move.filling)
        if given is None or out is None:
            return None
        match move.kind:
            case MoveKind.SLICE:
                added = _suffixes(given, out)
                return None if added is None else AllSlice(tuple(digits.axes(cut) for cut in added))
            case MoveKind.GATHER:
                removed = _suffixes(out, given)
                return None if removed is None else AllGather(tuple(digits.axes(cut) for cut in removed))
            case MoveKind.ALL_TO_ALL:
                params = _moved(given, out)
                return None if params is None else AllToAll(tuple(_param(param, digits) for param in params))
            case MoveKind.PERMUTE:
                return CollectivePermute()
            case _:
                assert_never(move.kind)

    def can_do(self, before: Filling, moves: Sequence[Move], digits: Digits) -> bool:
        """Whether each of the moves is one collective."""
        for move in moves:
            if self.collective(before, move, digits) is None:
                return False
            before = move.filling
        return True


def coarsest(slots: Slots, before: Filling, moves: Sequence[Move], digits: Digits) -> Layout:
    """A layout for all the moves, with parts of dims joined wherever one or two joints can go.

    It takes two at once where what moves together leaves one dim for another.
    """
    ends = frozenset(range(len(slots.sizes)))
    for one, other in combinations_with_replacement(sorted(ends), 2):
        joined = ends - {one, other}
        if ends >= {one, other} and Layout(slots, joined).can_do(before, moves, digits):
            ends = joined
    return Layout(slots, ends)


def _suffixes(shorter: Sequence[Cut], longer: Sequence[Cut]) -> list[Cut] | None:
    """What each longer cut has behind the shorter one; None where it does not begin with it."""
    if any(long[: len(short)] != short for short, long in zip(shorter, longer, strict=True)):
        return None
    return [long[len(short) :] for short, long in zip(shorter, longer, strict=True)]


def _moved(given: Sequence[Cut], out: Sequence[Cut]) -> list[tuple[Cut, int, int]] | None:
    """The digits that leave the end of one dim for that of another; None where dims trade in any other way."""
    left: dict[Cut, int] = {}
    came: dict[Cut, int] = {}
    for dim, (old, new) in enumerate(zip(given, out, strict=True)):
        kept = min(len(old), len(new))
        if old[:kept] != new[:kept]:
            return None
        if len(old) > kept:
            left[old[kept:]] = dim
        elif len(new) > kept:
            came[new[kept:]] = dim
    if left.keys() != came.keys():
        return None
    return [(cut, dim, came[cut]) for cut, dim in left.items()]


def _param(moved: tuple[Cut, int, int], digits: Digits) -> AllToAllParam:
    cut, source, target = moved
    return AllToAllParam(digits.axes(cut), source, target)
