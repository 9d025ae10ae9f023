"""The peak of the bytes alive while a program runs on one device, op by op in program order.

A value lives from the op that produces it to the last op that reads it. What is stored, and which values share memory,
is decided in `sdy.cost.allocation`. The operands of a loop or call are the values that its region starts with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.allocation.buffers import Buffers, region_inputs
from sdy.cost.allocation.result_buffers import stored_in_results
from sdy.cost.lifetimes import LifetimeStep, memory_uses
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.ir.symbols import functions_of, main_function


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes alive at once, and the op that runs then; None if a function has only arguments."""

    bytes: int
    op: Operation | None = None


def peak_bytes(local: ModuleOp) -> int:
    """Return the most bytes alive at once while the main function of a local program runs."""
    return peak(local, bytes_of_tensor).bytes


def bytes_of_tensor(value: SSAValue) -> int:
    """Return the bytes of a value of a local program."""
    return tensor_bytes(value.type)


def peak(module: ModuleOp, bytes_of: Callable[[SSAValue], int], *, is_compiled: bool = True) -> Peak:
    """Return the peak while the main function runs, where each value has the size that `bytes_of` returns.

    `is_compiled`: whether a compiler fuses ops and allocates all memory before the run (`sdy.cost.allocation.buffers`).
    """
    return PeakFinder(module, bytes_of, is_compiled=is_compiled).of_function(main_function(module))


class PeakFinder:
    """The memory peaks of the functions and blocks of a module, computed when first requested and then cached."""

    def __init__(self, module: ModuleOp, bytes_of: Callable[[SSAValue], int], *, is_compiled: bool = True) -> None:
        self._functions = functions_of(module)
        self._buffers = Buffers(module, is_compiled=is_compiled)
        self._bytes_of = bytes_of
        self._known: dict[str, Peak] = {}
        self._of_blocks: dict[Block, Peak] = {}
        self._sizes: dict[SSAValue, int] = {}
        self._with_results: set[Block] = set()  # whose values may be stored in the memory of results

    def of_function(self, func: FuncOp) -> Peak:
        """Return the peak of a function, including its arguments."""
        name = func.sym_name.data
        if name not in self._known:
            self._known[name] = Peak(0)  # ends the recursion for a function that calls itself
            self._known[name] = max(map(self.of_block, func.body.blocks), key=lambda peak: peak.bytes, default=Peak(0))
        return self._known[name]

    def of_block(self, block: Block) -> Peak:
        """Return the peak of a block, including its arguments but not the values that it reads from outside."""
        found = self._of_blocks.get(block)
        if found is None:
            found = self._of_blocks[block] = self._compute(block)
        return found

    def _compute(self, block: Block) -> Peak:
        insides = [self._inside(op) for op in block.ops]
        steps = [self._step(op, block, inside) for op, inside in zip(block.ops, insides, strict=True)]
        allocated = self._allocated_before(block, steps)
        found = Peak(sum(map(self.bytes_of, allocated)))
        for op, inside, moment in zip(block.ops, insides, memory_uses(allocated, steps, self.bytes_of), strict=True):
            if moment.most > found.bytes:
                found = Peak(moment.most, op if moment.most == moment.around else inside.op)
        return found

    def allocated_before(self, block: Block) -> Sequence[SSAValue]:
        """Return the values whose memory is in use from the start of a block: arguments, and results of the program."""
        return self._allocated_before(block, None)

    def _allocated_before(self, block: Block, steps: Sequence[LifetimeStep[SSAValue]] | None) -> Sequence[SSAValue]:
        results = self._buffers.allocated_results(block)
        if results and block not in self._with_results:
            self._with_results.add(block)
            stored = stored_in_results(results, self.steps(block) if steps is None else steps, self.bytes_of)
            self._sizes.update(dict.fromkeys(stored, 0))
        return [*block.args, *results]

    def steps(self, block: Block) -> list[LifetimeStep[SSAValue]]:
        """Return what each op of a block reads and produces; an op reads what its regions read."""
        return [self._step(op, block, self._inside(op)) for op in block.ops]

    def bytes_of(self, value: SSAValue) -> int:
        """Return the size of a value, computed once; 0 for a value in the memory of another one."""
        size = self._sizes.get(value)
        if size is None:
            size = self._sizes[value] = 0 if self._buffers.is_shared(value) else self._bytes_of(value)
        return size

    def _step(self, op: Operation, block: Block, inside: Peak) -> LifetimeStep[SSAValue]:
        buffers = self._buffers
        return LifetimeStep(
            buffers.reads(op, block),
            op.results,
            inside.bytes,
            region_inputs(op),
            buffers.overwritten(op),
            buffers.is_fused(op),
            buffers.is_in_place(op),
        )

    def _inside(self, op: Operation) -> Peak:
        if isinstance(op, CallOp):
            return self.of_function(self._functions[op.callee.string_value()])
        if not op.regions:
            return Peak(0)
        blocks = (block for region in op.regions for block in region.blocks)
        return max(map(self.of_block, blocks), key=lambda peak: peak.bytes, default=Peak(0))
