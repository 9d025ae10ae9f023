"""The bytes that are alive while a program runs on one device, op by op in program order, and their peak.

A value lives from the op that produces it to the last op that reads it. What is stored, and which values share memory,
is decided in `sdy.cost.allocation`. The operands of a loop or call are the values that its region starts with. A loop
counts as one trip in the curve over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.allocation.buffers import Buffers, stored_in_results
from sdy.cost.allocation.copies import NO_COPIES, Copies, copies
from sdy.cost.lifetimes import Lifetimes, LifetimeStep, MemoryUse, inside_regions, last_reads, lifetimes, memory_uses
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of, main_block, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.sharded_types import tensor_bytes

Values = frozenset[SSAValue]


MOST_HELD = 1.1  # of what devices hold without the optimizer, unless it saves as large a factor of the price


class BlockLives(NamedTuple):
    """The values whose memory is in use from the start of a block, a step for each op, and the ends of all lives.

    Those values are the arguments, and results of the program. A step reads what the regions of its op read. `uses` has
    the memory use during each op, and `most` is the peak of the block.
    """

    allocated: Sequence[SSAValue]
    steps: Sequence[LifetimeStep[SSAValue]]
    ends: Lifetimes[SSAValue]
    uses: Sequence[MemoryUse]
    most: int


def peak_bytes(local: ModuleOp) -> int:
    """Return the most bytes alive at once while the main function of a local program runs."""
    return peak(local, bytes_of_tensor)


def peaks(local: ModuleOp, unstored: Values) -> tuple[int, int]:
    """Return the peak of a local program, and the one that it has if some of its values are not stored."""
    finder, main = PeakFinder(local, bytes_of_tensor), main_function(local)
    most = finder.of_function(main)
    if not unstored:
        return most, most
    stored = finder.with_sizes(lambda value: 0 if value in unstored else bytes_of_tensor(value))
    return most, stored.of_function(main)


def bytes_of_tensor(value: SSAValue) -> int:
    """Return the bytes of a value of a local program."""
    return tensor_bytes(value.type)


def peak(module: ModuleOp, bytes_of: Callable[[SSAValue], int], *, is_compiled: bool = True) -> int:
    """Return the most bytes alive at once in the main function, where each value has the size that `bytes_of` returns.

    `is_compiled`: whether a compiler fuses ops and allocates all memory before the run (`sdy.cost.allocation.buffers`).
    """
    return PeakFinder(module, bytes_of, Buffers(module, is_compiled=is_compiled)).of_function(main_function(module))


class _BlockSteps(NamedTuple):
    """The steps of a block without the sizes of regions and copies, the copies of each, and the last reads."""

    steps: Sequence[LifetimeStep[SSAValue]]
    copies: Sequence[Copies]
    last: Mapping[SSAValue, int]


class PeakFinder:
    """The memory peaks of the functions and blocks of a module, computed when first requested and then cached.

    What was requested before the module changes is of the module as it was. `buffers` are those of the module, if they
    are known.
    """

    def __init__(self, module: ModuleOp, bytes_of: Callable[[SSAValue], int], buffers: Buffers | None = None) -> None:
        self._module, self._functions = module, functions_of(module)
        self.buffers = buffers or Buffers(module)
        self._bytes_of = bytes_of
        self._steps: dict[Block, _BlockSteps] = {}
        self._lives: dict[tuple[Block, Values], BlockLives] = {}
        self._pending: set[tuple[Block, Values]] = set()
        self._elsewhere: dict[tuple[Block, Values], Values] = {}
        self._sizes: dict[SSAValue, int] = {}

    def with_sizes(self, bytes_of: Callable[[SSAValue], int]) -> PeakFinder:
        """Return a finder for other sizes of the values of the same module, with which it shares all but the sizes."""
        found = PeakFinder(self._module, bytes_of, self.buffers)
        found._steps = self._steps
        return found

    def of_function(self, func: FuncOp, elsewhere: Values = frozenset()) -> int:
        """Return the peak of a function, including its arguments, but without values that have memory elsewhere."""
        return max((self.of_block(block, elsewhere) for block in func.body.blocks), default=0)

    def of_block(self, block: Block, elsewhere: Values = frozenset()) -> int:
        """Return the peak of a block, including its arguments but not the values that it reads from outside."""
        return self.lives(block, elsewhere).most if (block, elsewhere) not in self._pending else 0

    def lives(self, block: Block, elsewhere: Values = frozenset()) -> BlockLives:
        """Return the lives of the values of a block, some of which have memory elsewhere."""
        key = block, elsewhere
        found = self._lives.get(key)
        if found is None:
            self._pending.add(key)  # ends the recursion of a function that calls itself
            found = self._lives[key] = self._compute(block, elsewhere)
            self._pending.discard(key)
        return found

    def _compute(self, block: Block, elsewhere: Values) -> BlockLives:
        def bytes_elsewhere(value: SSAValue) -> int:
            return 0 if value in elsewhere else self.bytes_of(value)

        bytes_of = bytes_elsewhere if elsewhere else self.bytes_of
        results = self.buffers.allocated_results(block)
        kept = elsewhere.union(results)
        unsized = self._steps.get(block) or self._unsized(block)
        pairs = zip(ops_in(block), unsized.steps, unsized.copies, strict=True)
        steps = [self._sized(step, copied, self._inside(op, kept)) for op, step, copied in pairs]
        if results:
            stored = stored_in_results(results, steps, unsized.last, self.bytes_of)
            self._sizes.update(dict.fromkeys(stored, 0))
        allocated = [*block.args, *results]
        ends = lifetimes(allocated, steps, bytes_of, unsized.last)
        uses = memory_uses(allocated, steps, bytes_of, ends)
        return BlockLives(
            allocated, steps, ends, uses, max([sum(map(bytes_of, allocated)), *(use.most for use in uses)])
        )

    def values_elsewhere(self, call: Operation, elsewhere: Values) -> Values:
        """Return the values of a called function that are stored in the memory of results of the call.

        These are the ones that it returns, if those results have memory elsewhere, and others while that is idle.
        """
        if not isinstance(call, CallOp) or elsewhere.isdisjoint(call.results):
            return frozenset()
        block = self._functions[call.callee.string_value()].body.block
        returned = () if block.last_op is None else operands_of(block.last_op)
        pairs = zip(returned, call.results, strict=True)
        key = block, frozenset(value for value, result in pairs if result in elsewhere)
        if key not in self._elsewhere:
            self._elsewhere[key] = key[1]  # ends the recursion for a function that calls itself
            computed = [value for value in key[1] if value.owner is not block]
            steps, last = self.lives(block).steps, self._steps[block].last
            self._elsewhere[key] = key[1].union(stored_in_results(computed, steps, last, self.bytes_of))
        return self._elsewhere[key]

    def bytes_of(self, value: SSAValue) -> int:
        """Return the size of a value, computed once; 0 for a value in the memory of another one."""
        size = self._sizes.get(value)
        if size is None:
            size = self._sizes[value] = 0 if self.buffers.is_shared(value) else self._bytes_of(value)
        return size

    def _unsized(self, block: Block) -> _BlockSteps:
        buffers, fusion = self.buffers, self.buffers.fusion
        copied = [copies(op, fusion) for op in ops_in(block)]
        steps = [
            LifetimeStep(
                buffers.reads(op, block),
                op.results,
                region_inputs=buffers.region_inputs(op),
                overwritten=buffers.overwritten(op),
                is_fused=fusion.is_fused(op),
                is_in_place=fusion.is_in_place(op),
                copied=each.operands,
                scratch=each.scratch,
            )
            for op, each in zip(ops_in(block), copied, strict=True)
        ]
        found = self._steps[block] = _BlockSteps(steps, copied, last_reads(steps))
        return found

    def _sized(self, step: LifetimeStep[SSAValue], copied: Copies, inside: int) -> LifetimeStep[SSAValue]:
        if copied is NO_COPIES and not inside:
            return step  # almost always
        results = sum(map(self._bytes_of, step.produces)) if copied.has_results else 0
        operands = sum(map(self._bytes_of, copied.operands))
        return step._replace(inside=inside, copied_bytes=operands, uncopied_bytes=results)

    def _inside(self, op: Operation, elsewhere: Values) -> int:
        if not self.buffers.stores_inside(op):
            return 0
        if isinstance(op, CallOp):
            called = self._functions[op.callee.string_value()]
            return self.of_function(called, self.values_elsewhere(op, elsewhere))
        return max(map(self.of_block, blocks_of(op)), default=0)


AliveBytes = dict[SSAValue, int]


@dataclass(frozen=True, slots=True)
class PeakValues:
    """The memory curve of a program, the index of its peak, and the values alive there with the bytes of each."""

    curve: list[int]
    index: int
    values: AliveBytes


def memory_curve(local: ModuleOp) -> list[int]:
    """Return the bytes alive while each op runs: one number for each of `visits(local)`, in the same order."""
    return list(_AliveValues(local, bytes_of_tensor).points(main_block(local)))


def values_at_peak(local: ModuleOp, bytes_of: Callable[[SSAValue], int] = bytes_of_tensor) -> PeakValues:
    """Return the memory curve, where each value has the size that `bytes_of` returns, and the values at its maximum.

    These are the arguments of a program without ops.
    """
    alive = _AliveValues(local, bytes_of)
    curve = list(alive.points(main_block(local)))
    index = max(range(len(curve)), key=curve.__getitem__, default=0)
    next(islice(alive.points(main_block(local)), index, None), None)
    return PeakValues(curve, index, alive.values)


class _AliveValues:
    """The values alive at a point of a walk through a program, with the bytes of each."""

    def __init__(self, local: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> None:
        self._peaks = PeakFinder(local, bytes_of)
        self._functions = functions_of(local)
        self.values: AliveBytes = {}
        self._total = 0

    def points(self, block: Block, elsewhere: Values = frozenset()) -> Iterator[int]:
        """Yield the bytes alive at each point of a block. Its arguments and results are dropped at its end."""
        outside = dict(self.values), self._total
        allocated, steps, ends, *_ = self._peaks.lives(block, elsewhere)
        self._add(value for value in allocated if value not in elsewhere)
        kept = elsewhere.union(allocated)
        lives = zip(ops_in(block), steps, ends.dying, ends.reused, ends.temporary, strict=True)
        for op, step, dying, reused, temporary in lives:
            yield from self._inner_points(op, step, dying, kept)
            self._remove(reused)
            self._add(result for result in op.results if result not in elsewhere)
            self._resize(op.results, temporary)
            yield self._total
            self._resize(op.results, -temporary)
            self._remove(dying)
            self._remove(result for result in op.results if result.first_use is None)
        self.values, self._total = outside

    def _inner_points(
        self, op: Operation, step: LifetimeStep[SSAValue], dying: Sequence[SSAValue], kept: Values
    ) -> Iterator[int]:
        """Yield the bytes alive before the blocks inside of an op, and at each point of these."""
        inner = [self._functions[op.callee.string_value()].body.block] if isinstance(op, CallOp) else blocks_of(op)
        if not inner:
            return
        yield self._total
        around = dict(self.values), self._total
        if self._peaks.buffers.stores_inside(op):
            # A region input that no later op reads is counted once, among the values of the region.
            self._remove(inside_regions(step, dying, kept))
        for block in inner:
            yield from self.points(block, self._peaks.values_elsewhere(op, kept))
        self.values, self._total = around

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            size = self._peaks.bytes_of(value)
            self._total += size - self.values.get(value, 0)
            self.values[value] = size

    def _resize(self, values: Sequence[SSAValue], size: int) -> None:
        """Add the bytes of the copies that an op makes to those of its first result."""
        if size:
            self._total += size
            self.values[values[0]] = self.values.get(values[0], 0) + size

    def _remove(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._total -= self.values.pop(value, 0)


def is_worth_its_memory(price: float, peak: int, other_price: float, other_peak: int) -> bool:
    """Return whether a program holds little more than another one, or saves as large a factor of the price.

    A price is what is minimized: bytes sent, or seconds.
    """
    return peak <= MOST_HELD * other_peak or price * peak <= other_price * other_peak
