"""The bytes that are alive while each op of a program runs, and the values that are alive at the peak.

Lifetimes are those of `sdy.cost.memory`, whose peak is the maximum of this curve. A loop counts as one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.buffers import Buffers, region_inputs
from sdy.cost.memory import bytes_of_tensor
from sdy.dialects.ir.symbols import functions_of, main_function

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
        self._bytes_of = bytes_of
        self._functions = functions_of(local)
        self._buffers = Buffers(local)
        self._last_reads: dict[Block, dict[Operation, set[SSAValue]]] = {}
        self._main = main_function(local).body.block
        self._sizes: AliveBytes = {}
        self.alive: AliveBytes = {}
        self._total = 0

    def walk(self) -> Iterator[int]:
        """Yield the bytes alive at each point."""
        return self._of_block(self._main)

    def _of_block(self, block: Block) -> Iterator[int]:
        """Yield the bytes at each point of a block. Its arguments and results are dropped at its end."""
        outside = self._snapshot()
        self._add(block.args)
        dying = self._dying(block)
        for op in block.ops:
            inner = self._inner_blocks(op)
            region_only = dying[op].intersection(region_inputs(op))
            if inner:
                yield self._total
                # A region input that no later op reads is counted once, among the values of the region.
                around = self._snapshot()
                self._remove(region_only)
                for inner_block in inner:
                    yield from self._of_block(inner_block)
                self.alive, self._total = around
            self._remove(dying[op].intersection(self._buffers.overwritten(op)))
            self._add(op.results)
            yield self._total
            self._remove(dying[op])
            self._remove(result for result in op.results if not any(result.uses))
        self.alive, self._total = outside

    def _dying(self, block: Block) -> dict[Operation, set[SSAValue]]:
        if block not in self._last_reads:
            self._last_reads[block] = self._buffers.last_reads(block)
        return self._last_reads[block]

    def _inner_blocks(self, op: Operation) -> list[Block]:
        if isinstance(op, CallOp):
            return [self._functions[op.callee.string_value()].body.block]
        return [block for region in op.regions for block in region.blocks]

    def _snapshot(self) -> tuple[AliveBytes, int]:
        return dict(self.alive), self._total

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            size = self._sizes.get(value)
            if size is None:
                size = self._sizes[value] = 0 if self._buffers.is_shared(value) else self._bytes_of(value)
            self._total += size - self.alive.get(value, 0)
            self.alive[value] = size

    def _remove(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._total -= self.alive.pop(value, 0)
