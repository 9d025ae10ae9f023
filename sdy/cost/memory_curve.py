"""The bytes that are alive while each op of a program runs, and the values that are alive at the peak.

Lifetimes are those of `sdy.cost.memory`, whose peak is the maximum of this curve. A loop counts as one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.lifetimes import Lifetimes, LifetimeStep, inside_regions, lifetimes
from sdy.cost.memory import PeakFinder, Values, bytes_of_tensor
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in

AliveBytes = dict[SSAValue, int]


@dataclass(frozen=True, slots=True)
class PeakValues:
    """The memory curve of a program, the index of its peak, and the values alive there with the bytes of each."""

    curve: list[int]
    index: int
    values: AliveBytes


def memory_curve(local: ModuleOp) -> list[int]:
    """Return the bytes alive while each op runs: one number for each of `visits(local)`, in the same order."""
    return list(_AliveValues(local, bytes_of_tensor).walk())


def values_at_peak(local: ModuleOp, bytes_of: Callable[[SSAValue], int] = bytes_of_tensor) -> PeakValues:
    """Return the memory curve, where each value has the size that `bytes_of` returns, and the values at its maximum.

    These are the arguments of a program without ops.
    """
    lives = _AliveValues(local, bytes_of)
    curve = list(lives.walk())
    index = max(range(len(curve)), key=curve.__getitem__, default=0)
    for point, _ in enumerate(lives.walk()):
        if point == index:
            break
    return PeakValues(curve, index, dict(lives.alive))


class _AliveValues:
    """A walk through a program; `alive` has the values alive at the point that was reached."""

    def __init__(self, local: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> None:
        self._peaks = PeakFinder(local, bytes_of)
        self._functions = functions_of(local)
        self._known: dict[Block, _BlockLives] = {}
        self._main = main_function(local).body.block
        self.alive: AliveBytes = {}
        self._total = 0

    def walk(self) -> Iterator[int]:
        """Yield the bytes alive at each point."""
        return self._of_block(self._main)

    def _of_block(self, block: Block, elsewhere: Values = frozenset()) -> Iterator[int]:
        """Yield the bytes at each point of a block. Its arguments and results are dropped at its end."""
        outside = self._snapshot()
        lives = self._lives(block)
        self._add(lives.kept)
        kept = elsewhere.union(lives.kept)
        ends = zip(lives.ends.dying, lives.ends.reused, lives.ends.temporary, strict=True)
        for op, step, (dying, reused, temporary) in zip(ops_in(block), lives.steps, ends, strict=True):
            inner = self._inner_blocks(op)
            if inner and not self._peaks.stores_inside(op):
                yield from [self._total] * (1 + sum(map(self._points, inner)))
            elif inner:
                yield self._total
                # A region input that no later op reads is counted once, among the values of the region.
                around = self._snapshot()
                self._remove(inside_regions(step, dying, lives.kept))
                for inner_block in inner:
                    yield from self._of_block(inner_block, self._peaks.values_elsewhere(op, kept))
                self.alive, self._total = around
            self._remove(reused)
            self._add(result for result in op.results if result not in elsewhere)
            self._resize(op.results, temporary)
            yield self._total
            self._resize(op.results, -temporary)
            self._remove(dying)
            self._remove(result for result in op.results if result.first_use is None)
        self.alive, self._total = outside

    def _lives(self, block: Block) -> _BlockLives:
        found = self._known.get(block)
        if found is None:
            steps = self._peaks.steps(block)
            allocated = self._peaks.allocated_before(block, steps)
            ends = lifetimes(allocated, steps, self._peaks.bytes_of)
            found = self._known[block] = _BlockLives(dict.fromkeys(allocated).keys(), steps, ends)
        return found

    def _points(self, block: Block) -> int:
        """Return the number of points of the curve in a block."""
        inner = [self._inner_blocks(op) for op in ops_in(block)]
        return len(inner) + sum(1 + sum(map(self._points, blocks)) for blocks in inner if blocks)

    def _inner_blocks(self, op: Operation) -> list[Block]:
        if isinstance(op, CallOp):
            return [self._functions[op.callee.string_value()].body.block]
        return blocks_of(op) if op.regions else []

    def _snapshot(self) -> tuple[AliveBytes, int]:
        return dict(self.alive), self._total

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            size = self._peaks.bytes_of(value)
            self._total += size - self.alive.get(value, 0)
            self.alive[value] = size

    def _resize(self, values: Sequence[SSAValue], size: int) -> None:
        """Add the bytes of the copies that an op makes to those of its first result."""
        if size:
            self._total += size
            self.alive[values[0]] = self.alive.get(values[0], 0) + size

    def _remove(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._total -= self.alive.pop(value, 0)


@dataclass(frozen=True, slots=True)
class _BlockLives:
    """The values that have memory before a block starts, its steps, and the ends of the lives of its values."""

    kept: AbstractSet[SSAValue]
    steps: Sequence[LifetimeStep[SSAValue]]
    ends: Lifetimes[SSAValue]
