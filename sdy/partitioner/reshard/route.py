"""The moves between two shardings on one mesh."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.chains import Ends, chains_of
from sdy.partitioner.reshard.digits import Cut, Digits, digits_of
from sdy.partitioner.reshard.search import Move, MoveKind, cheapest_moves, relevant
from sdy.partitioner.reshard.slots import EMPTY, Filling, Slots, common_slots


@dataclass(frozen=True, slots=True)
class Route:
    """Moves that begin at a filling of slots with digits."""

    digits: Digits
    slots: Slots
    start: Filling
    moves: tuple[Move, ...]


def find_route(
    source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh, taken: Collection[AxisRef]
) -> Route | None:
    """The cheapest moves; None where cuts of the ends do not fit into one another, or do not divide a dim that changes.

    Axes that neither end mentions help out where that saves something, except those in `taken`.
    """
    digits = digits_of([*source.axis_refs(), *target.axis_refs(), *taken], mesh)
    if digits is None:
        return None
    given, wanted = ([digits.cut(dim.axes) for dim in sharding.dims] for sharding in (source, target))
    slots = common_slots(given, wanted, digits.sizes)
    if slots is None or not _divide(slots, given, wanted, shape):
        return None
    start, end = slots.filled(given), slots.filled(wanted)
    usable = digits.outside([*taken, *source.unreduced, *target.unreduced])
    return Route(digits, slots, start, _moves(Ends(start, end, slots.sizes, digits.sizes), set(usable)))


def _divide(slots: Slots, given: Sequence[Cut], wanted: Sequence[Cut], shape: Shape) -> bool:
    return all(
        old == new or (size is not None and size % slots.pieces(dim) == 0)
        for dim, (size, old, new) in enumerate(zip(shape, given, wanted, strict=True))
    )


def _moves(ends: Ends, usable: set[int]) -> tuple[Move, ...]:
    """The moves that lead from one end to the other: those of the problem with the same chains, renamed."""
    chains = [chain for chain in chains_of(ends) if usable.issuperset(chain.digits)]
    kinds = [chain.kind for chain in chains]
    kept = relevant(kinds)
    digits: list[int] = []
    slots: list[int] = []
    for kind in kept:
        chain = chains.pop(kinds.index(kind))
        kinds.remove(kind)
        digits += chain.digits
        slots += chain.slots
    moves: list[Move] = []
    filling = ends.filling
    for move in cheapest_moves(kept):
        after = list(filling)
        for slot, digit in zip(slots, move.filling, strict=True):
            after[slot] = EMPTY if digit == EMPTY else digits[digit]
        filling = tuple(after)
        moves.append(Move(move.kind, filling))
    return tuple(_one_by_one(ends.filling, joined_slices(moves)))


def joined_slices(moves: Iterable[Move]) -> list[Move]:
    """The moves, slices in a row as one."""
    joined: list[Move] = []
    for move in moves:
        if joined and joined[-1].kind is move.kind is MoveKind.SLICE:
            joined.pop()
        joined.append(move)
    return joined


def _one_by_one(filling: Filling, moves: Iterable[Move]) -> Iterator[Move]:
    """The moves, slot after slot where they are slices: of a dim, major slots come first."""
    for move in moves:
        if move.kind is MoveKind.SLICE:
            places = [place for place, pair in enumerate(zip(filling, move.filling, strict=True)) if pair[0] != pair[1]]
            for place in places:
                filling = (*filling[:place], move.filling[place], *filling[place + 1 :])
                yield Move(MoveKind.SLICE, filling)
        else:
            filling = move.filling
            yield move


def with_permute(route: Route) -> tuple[tuple[Move, ...], int]:
    """The moves with a permute among them, and its place: it can change the order of devices besides what it does.

    Where none is needed otherwise, one that leaves the slots as they are comes when tiles are smallest.
    """
    kinds = [move.kind for move in route.moves]
    if MoveKind.PERMUTE in kinds:
        return route.moves, kinds.index(MoveKind.PERMUTE)
    place = next((place for place, kind in enumerate(kinds) if kind is not MoveKind.SLICE), len(kinds))
    filling = route.moves[place - 1].filling if place else route.start
    return (*route.moves[:place], Move(MoveKind.PERMUTE, filling), *route.moves[place:]), place
