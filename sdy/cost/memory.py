"""The peak of the bytes alive while a program runs on one device, op by op in program order.

A value lives from the op that produces it to the last op that reads it. Arguments of the program live from the start
to the end, and donated ones to their last read (`sdy.cost.buffers`). The operands of a loop or call are the values that
its region starts with. The results of a loop reuse the memory of its operands, as compilers do it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.buffers import Buffers, region_inputs
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


def peak(module: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> Peak:
    """Return the peak while the main function runs, where each value has the size that `bytes_of` returns."""
    return PeakFinder(module, bytes_of).of_function(main_function(module))


class PeakFinder:
    """The memory peaks of the functions and blocks of a module, computed when first requested and then cached."""

    def __init__(self, module: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> None:
        self._functions = functions_of(module)
        self._buffers = Buffers(module)
        self._bytes_of = bytes_of
        self._known: dict[str, Peak] = {}
        self._of_blocks: dict[Block, Peak] = {}
        self._sizes: dict[SSAValue, int] = {}

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
        found = Peak(sum(map(self.bytes_of, block.args)))
        insides = [self._inside(op) for op in block.ops]
        steps = [self._step(op, block, inside) for op, inside in zip(block.ops, insides, strict=True)]
        for op, inside, moment in zip(block.ops, insides, memory_uses(block.args, steps, self.bytes_of), strict=True):
            if moment.most > found.bytes:
                found = Peak(moment.most, op if moment.most == moment.around else inside.op)
        return found

    def steps(self, block: Block) -> list[LifetimeStep[SSAValue]]:
        """Return what each op of a block reads and produces; an op reads what its regions read."""
        return [self._step(op, block, self._inside(op)) for op in block.ops]

    def bytes_of(self, value: SSAValue) -> int:
        """Return the size of a value, computed once; 0 for a value in the memory of a held argument."""
        size = self._sizes.get(value)
        if size is None:
            size = self._sizes[value] = 0 if self._buffers.is_shared(value) else self._bytes_of(value)
        return size

    def _step(self, op: Operation, block: Block, inside: Peak) -> LifetimeStep[SSAValue]:
        reads, overwritten = self._buffers.reads(op, block), self._buffers.overwritten(op)
        return LifetimeStep(reads, op.results, inside.bytes, region_inputs(op), overwritten)

    def _inside(self, op: Operation) -> Peak:
        if isinstance(op, CallOp):
            return self.of_function(self._functions[op.callee.string_value()])
        if not op.regions:
            return Peak(0)
        blocks = (block for region in op.regions for block in region.blocks)
        return max(map(self.of_block, blocks), key=lambda peak: peak.bytes, default=Peak(0))
