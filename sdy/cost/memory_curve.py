"""How many bytes of tensors are alive while each op of a program runs, and which values they are at the peak.

Lives are those of `sdy.cost.memory`, whose peak is the highest point of the curve. A loop counts as one trip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.memory import last_reads, region_inputs
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.stablehlo.control import WhileOp

AliveBytes = dict[SSAValue, int]


@dataclass(frozen=True, slots=True)
class PeakValues:
    """The values that are alive when the most bytes are: with the bytes of each, and when that is in the curve."""

    index: int
    values: AliveBytes


def memory_curve(local: ModuleOp) -> list[int]:
    """The bytes while each op runs: one number for each of `visits(local)`, in the same order."""
    return list(_Lives(local).walk())


def values_at_peak(local: ModuleOp, curve: list[int]) -> PeakValues:
    """What is alive at the highest point of the curve of a local program; its arguments where it has no op."""
    lives = _Lives(local)
    index = max(range(len(curve)), key=curve.__getitem__, default=0)
    for place, _ in enumerate(lives.walk()):
        if place == index:
            break
    return PeakValues(index, dict(lives.alive))


class _Lives:
    """Walks through a program; `alive` is what is there at the point that was reached."""

    def __init__(self, local: ModuleOp) -> None:
        self._functions = functions_of(local)
        self._last_reads: dict[Block, dict[Operation, set[SSAValue]]] = {}
        self._main = main_function(local).body.block
        self.alive: AliveBytes = {}
        self._total = 0

    def walk(self) -> Iterator[int]:
        """The bytes that are alive, at each point."""
        return self._of_block(self._main)

    def _of_block(self, block: Block) -> Iterator[int]:
        """Its arguments come on top of what is alive, and are gone with what it made when it is over."""
        outside = self._now()
        self._add(block.args)
        dying = self._dying(block)
        for op in block.ops:
            inner = self._inner_blocks(op)
            given = dying[op].intersection(region_inputs(op))
            if inner:
                yield self._total
                # What is given to the region, and read by no later op, is what it starts with: it is not there twice.
                around = self._now()
                self._remove(given)
                for each in inner:
                    yield from self._of_block(each)
                self.alive, self._total = around
            if isinstance(op, WhileOp):
                self._remove(given)  # what it gives comes in the place of that
            self._add(op.results)
            yield self._total
            self._remove(dying[op])
            self._remove(result for result in op.results if not any(result.uses))
        self.alive, self._total = outside

    def _dying(self, block: Block) -> dict[Operation, set[SSAValue]]:
        if block not in self._last_reads:
            self._last_reads[block] = last_reads(block)
        return self._last_reads[block]

    def _inner_blocks(self, op: Operation) -> list[Block]:
        if isinstance(op, CallOp):
            return [self._functions[op.callee.string_value()].body.block]
        return [block for region in op.regions for block in region.blocks]

    def _now(self) -> tuple[AliveBytes, int]:
        return dict(self.alive), self._total

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            size = tensor_bytes(value.type)
            self._total += size - self.alive.get(value, 0)
            self.alive[value] = size

    def _remove(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._total -= self.alive.pop(value, 0)
