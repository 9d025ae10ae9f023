"""The order of a block in which collectives run together, and no more bytes are alive than there may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sdy.cost.lifetimes import Moment, Step, moments
from sdy.partitioner.launches.groups import Candidate, halves, largest_groups
from sdy.partitioner.launches.order import Group, Grouping, Needs, scheduled

V = TypeVar("V")

MOST_SPLITS = 64  # each takes a look at the whole block


@dataclass(frozen=True, slots=True)
class Order:
    """The ops in the order in which they run, and how many bytes are alive then."""

    groups: Sequence[Group]
    alive: Sequence[Moment]


@dataclass(frozen=True)
class Program(Generic[V]):
    """The ops of a block: what each has to come after, what it reads and makes, and how large that is."""

    arguments: Sequence[V]
    steps: Sequence[Step[V]]
    needs: Needs
    bytes_of: Callable[[V], int]

    def order(self, groups: Iterable[Group]) -> Order:
        """What order the ops run in where some run at once."""
        in_turn = scheduled(Grouping(self.needs, groups))
        return Order(in_turn, moments(self.arguments, [self._together(group) for group in in_turn], self.bytes_of))

    def _together(self, group: Group) -> Step[V]:
        if len(group) == 1:
            return self.steps[group[0]]
        steps = [self.steps[op] for op in group]
        reads = [value for step in steps for value in step.reads]
        makes = [value for step in steps for value in step.makes]
        return Step(reads, makes, max(step.inside for step in steps))


def combined_order(program: Program[V], candidates: Sequence[Candidate], most_bytes: int, most_alive: int) -> Order:
    """The ops in a new order, those that run at once together; the old one where nothing else fits into memory.

    `most_bytes` is how large the results of a group may be, `most_alive` how much may be alive at any time. Where that
    is too little, the group that has the most alive by then is halved.
    """
    groups = largest_groups(program.needs, candidates, most_bytes)
    for _ in range(MOST_SPLITS):
        if not groups:
            break
        order = program.order(groups)
        worst = max(range(len(order.alive)), key=lambda place: order.alive[place].most)
        if order.alive[worst].most <= most_alive:
            return order
        culprit = max(groups, key=_Blame(program, order.groups, worst))
        groups = [each for group in groups for each in (halves(group) if group is culprit else (group,))]
    return program.order(())


class _Blame(Generic[V]):
    """How much more of the operands and results of a group is alive at a place than in the order of the program."""

    def __init__(self, program: Program[V], order: Sequence[Group], place: int) -> None:
        self._program = program
        before: list[Group] = [(op,) for op in range(len(program.steps))]
        self._more = _alive(program, order, place)
        self._less = _alive(program, before, order[place][0])

    def __call__(self, group: Group) -> int:
        steps = [self._program.steps[op] for op in group]
        own = {value for step in steps for value in (*step.reads, *step.makes)}
        size = self._program.bytes_of
        return sum(map(size, own & self._more)) - sum(map(size, own & self._less))


def _alive(program: Program[V], order: Sequence[Group], place: int) -> set[V]:
    """The values that are made up to a place, and read from there on."""
    read = {value for group in order[place:] for op in group for value in program.steps[op].reads}
    made = {value for group in order[: place + 1] for op in group for value in program.steps[op].makes}
    here = {value for op in order[place] for value in program.steps[op].makes}
    return (read & (made | {*program.arguments})) | here
