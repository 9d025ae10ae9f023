"""The bytes that are alive while each op of a program runs, and the values that are alive at the peak.

Lifetimes are those of `sdy.cost.memory`, whose peak is the maximum of this curve. A loop counts as one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.lifetimes import inside_regions
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
    return _AliveValues(local, bytes_of_tensor).curve()


def values_at_peak(local: ModuleOp, bytes_of: Callable[[SSAValue], int] = bytes_of_tensor) -> PeakValues:
    """Return the memory curve, where each value has the size that `bytes_of` returns, and the values at its maximum.

    These are the arguments of a program without ops.
    """
    alive = _AliveValues(local, bytes_of)
    curve = alive.curve()
    index = max(range(len(curve)), key=curve.__getitem__, default=0)
    return PeakValues(curve, index, alive.values_at(index))


class _AliveValues:
    """A walk through a program, which notes the bytes alive at each point, or the values alive at one of them."""

    def __init__(self, local: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> None:
        self._peaks = PeakFinder(local, bytes_of)
        self._functions = functions_of(local)
        self._point_counts: dict[Block, int] = {}
        self._main = main_function(local).body.block
        self._alive: AliveBytes = {}
        self._total = 0
        self._curve: list[int] = []
        self._point = 0  # the number of points that were passed
        self._wanted: int | None = None  # the point whose values are searched, or None to note the curve
        self._found: AliveBytes = {}

    def curve(self) -> list[int]:
        """Return the bytes alive at each point."""
        self._visit(self._main)
        return self._curve

    def values_at(self, point: int) -> AliveBytes:
        """Return the values alive at a point of the curve."""
        self._point, self._wanted = 0, point
        self._visit(self._main)
        return self._found

    def _visit(self, block: Block, elsewhere: Values = frozenset()) -> None:
        """Pass the points of a block. Its arguments and results are dropped at its end."""
        if not self._is_wanted(self._points(block)):
            self._point += self._points(block)
            return
        outside = self._snapshot()
        lives = self._peaks.lives(block)
        self._add(lives.allocated)
        allocated = frozenset(lives.allocated)
        kept = elsewhere.union(allocated)
        ends = zip(lives.ends.dying, lives.ends.reused, lives.ends.temporary, strict=True)
        for op, step, (dying, reused, temporary) in zip(ops_in(block), lives.steps, ends, strict=True):
            inner = self._inner_blocks(op)
            if inner and not self._peaks.stores_inside(op):
                self._pass(1 + sum(map(self._points, inner)))
            elif inner:
                self._pass(1)
                # A region input that no later op reads is counted once, among the values of the region.
                around = self._snapshot()
                self._remove(inside_regions(step, dying, allocated))
                for inner_block in inner:
                    self._visit(inner_block, self._peaks.values_elsewhere(op, kept))
                self._alive, self._total = around
            self._remove(reused)
            self._add(result for result in op.results if result not in elsewhere)
            self._resize(op.results, temporary)
            self._pass(1)
            if self._wanted is not None and self._point > self._wanted:
                break
            self._resize(op.results, -temporary)
            self._remove(dying)
            self._remove(result for result in op.results if result.first_use is None)
        self._alive, self._total = outside

    def _pass(self, count: int) -> None:
        """Pass points at which the same values are alive."""
        if self._wanted is None:
            self._curve.extend([self._total] * count)
        elif self._is_wanted(count):
            self._found = dict(self._alive)
        self._point += count

    def _is_wanted(self, count: int) -> bool:
        """Return whether the next points are noted, or have the one whose values are searched."""
        return self._wanted is None or self._point <= self._wanted < self._point + count

    def _points(self, block: Block) -> int:
        """Return the number of points of the curve in a block."""
        count = self._point_counts.get(block)
        if count is None:
            inner = [self._inner_blocks(op) for op in ops_in(block)]
            count = len(inner) + sum(1 + sum(map(self._points, blocks)) for blocks in inner if blocks)
            self._point_counts[block] = count
        return count

    def _inner_blocks(self, op: Operation) -> list[Block]:
        if isinstance(op, CallOp):
            return [self._functions[op.callee.string_value()].body.block]
        return blocks_of(op) if op.regions else []

    def _snapshot(self) -> tuple[AliveBytes, int]:
        return dict(self._alive), self._total

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            size = self._peaks.bytes_of(value)
            self._total += size - self._alive.get(value, 0)
            self._alive[value] = size

    def _resize(self, values: Sequence[SSAValue], size: int) -> None:
        """Add the bytes of the copies that an op makes to those of its first result."""
        if size:
            self._total += size
            self._alive[values[0]] = self._alive.get(values[0], 0) + size

    def _remove(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._total -= self._alive.pop(value, 0)
