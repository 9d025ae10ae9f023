"""Facts about a filling of slots on the way to a target: shard sizes, conflicts, digits that can move."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sdy.partitioner.reshard.chains import DigitChain, SlotProblem, chains_of
from sdy.partitioner.reshard.slots import EMPTY, Filling


class SlotFacts:
    """Facts about fillings of the slots of one problem.

    Shard sizes count the elements of a tensor so large that all prices are integers. `target_slots` maps each digit of
    the target to its slot.
    """

    def __init__(self, problem: SlotProblem) -> None:
        self.problem = problem
        self.target_slots = {digit: slot for slot, digit in enumerate(problem.target) if digit != EMPTY}
        self._global_size = prod(problem.slot_sizes) ** 2
        self.target_shard_size = self._global_size // self._shard_count(problem.target)
        self.largest_shard_size = max(self.target_shard_size, self.shard_size(problem.filling))

    def chains(self, filling: Filling) -> list[DigitChain]:
        """Return the chains that separate a filling from the target."""
        return chains_of(SlotProblem(filling, self.problem.target, self.problem.slot_sizes, self.problem.digit_sizes))

    def _shard_count(self, filling: Filling) -> int:
        return prod(size for size, digit in zip(self.problem.slot_sizes, filling, strict=True) if digit != EMPTY)

    def shard_size(self, filling: Filling) -> int:
        """Return the number of elements on each device."""
        return self._global_size // self._shard_count(filling)

    def unused_sizes(self, filling: Filling) -> tuple[int, ...]:
        """Return the sizes of slots that are empty and stay empty, sorted."""
        slots = zip(self.problem.slot_sizes, filling, self.problem.target, strict=True)
        return tuple(sorted(size for size, digit, target in slots if digit == target == EMPTY))

    def has_conflict(self, filling: Filling) -> bool:
        """Return whether some slot holds a digit and must hold another one."""
        return any(
            EMPTY != digit != target != EMPTY for digit, target in zip(filling, self.problem.target, strict=True)
        )

    def gathered_count(self, filling: Filling) -> int:
        """Return the number of shards along the slots that must become empty."""
        slots = zip(self.problem.slot_sizes, filling, self.problem.target, strict=True)
        return prod(size for size, digit, target in slots if digit != EMPTY == target)

    def movable(self, filling: Filling) -> list[int]:
        """Return the digits that are in another slot than their target slot, which is empty."""
        return [
            digit
            for digit in filling
            if digit != EMPTY and filling[slot := self.target_slots.get(digit, EMPTY)] == EMPTY and slot != EMPTY
        ]

    def moved(self, filling: Filling, digits: Sequence[int]) -> Filling:
        """Return the filling after digits have moved to their target slots."""
        changes = {filling.index(digit): EMPTY for digit in digits}
        return replaced(filling, {**changes, **{self.target_slots[digit]: digit for digit in digits}})


def replaced(filling: Filling, changes: dict[int, int]) -> Filling:
    """Return the filling with other digits in some slots."""
    return tuple(changes.get(slot, digit) for slot, digit in enumerate(filling))
