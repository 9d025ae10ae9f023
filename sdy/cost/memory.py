"""How many bytes of tensors are alive at once when a program runs on one device, op by op in program order.

A value lives from the op that makes it to the last op that reads it; arguments of the program live from the start,
its results to the end. The values that a loop, a branch or a call is given are those that its region starts with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.symbols import functions_of, main_function
from sdy.dialects.walk import pre_order


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes alive at once, and the op that runs meanwhile; none where a function only has arguments."""

    bytes: int
    op: Operation | None = None


def peak_bytes(local: ModuleOp) -> int:
    """The most bytes alive at once in a run of the main function of a local program."""
    return peak(local, lambda value: tensor_bytes(value.type)).bytes


def peak(module: ModuleOp, bytes_of: Callable[[SSAValue], int]) -> Peak:
    """When the most bytes are alive in a run of the main function, where a value has the bytes that it is told to."""
    return _Peaks(functions_of(module), bytes_of).of_function(main_function(module))


class _Peaks:
    def __init__(self, functions: dict[str, FuncOp], bytes_of: Callable[[SSAValue], int]) -> None:
        self._functions = functions
        self._bytes_of = bytes_of
        self._known: dict[str, Peak] = {}
        self._sizes: dict[SSAValue, int] = {}

    def of_function(self, func: FuncOp) -> Peak:
        name = func.sym_name.data
        if name not in self._known:
            self._known[name] = self._of_block(func.body.block)
        return self._known[name]

    def _of_block(self, block: Block) -> Peak:
        """With the arguments of the block, without what it reads from outside."""
        dying = last_reads(block)
        alive = self._bytes(block.args)
        found = Peak(alive)
        for op in block.ops:
            dead, made, inside = self._bytes(dying[op]), self._bytes(op.results), self._inside(op)
            # What only this op still reads is what its region starts with: it is not there twice.
            during = Peak(alive + inside.bytes - dead, inside.op) if inside.bytes else Peak(alive, op)
            found = max(found, Peak(alive + made, op), during, key=lambda peak: peak.bytes)
            alive += made - dead - self._bytes(result for result in op.results if not any(result.uses))
        return found

    def _inside(self, op: Operation) -> Peak:
        if isinstance(op, CallOp):
            return self.of_function(self._functions[op.callee.string_value()])
        blocks = (block for region in op.regions for block in region.blocks)
        return max(map(self._of_block, blocks), key=lambda peak: peak.bytes, default=Peak(0))

    def _bytes(self, values: Iterable[SSAValue]) -> int:
        total = 0
        for value in values:
            size = self._sizes.get(value)
            if size is None:
                size = self._sizes[value] = self._bytes_of(value)
            total += size
        return total


def last_reads(block: Block) -> dict[Operation, set[SSAValue]]:
    """Of each op of a block, the values of this block that no later op reads; reads in regions are those of the op."""
    last: dict[SSAValue, Operation] = {}
    ops = list(block.ops)
    for op in ops:
        for inner in (op, *pre_order(op)) if op.regions else (op,):
            for value in inner.operands:
                if value in last or _block_of(value) is block:
                    last[value] = op
    dying: dict[Operation, set[SSAValue]] = {op: set() for op in ops}
    for value, op in last.items():
        dying[op].add(value)
    return dying


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
