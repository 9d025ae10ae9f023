"""How many bytes of tensors are alive at once when a program runs on one device, op by op in program order.

A value lives from the op that makes it to the last op that reads it; arguments of the program live from the start,
its results to the end. The values that a loop, a branch or a call is given are those that its region starts with.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.symbols import functions_of, main_function
from sdy.dialects.walk import pre_order


def peak_bytes(local: ModuleOp) -> int:
    """The most bytes alive at once in a run of the main function of a local program."""
    return _Peaks(functions_of(local)).of_function(main_function(local))


class _Peaks:
    def __init__(self, functions: dict[str, FuncOp]) -> None:
        self._functions = functions
        self._known: dict[str, int] = {}

    def of_function(self, func: FuncOp) -> int:
        name = func.sym_name.data
        if name not in self._known:
            self._known[name] = self._of_block(func.body.block)
        return self._known[name]

    def _of_block(self, block: Block) -> int:
        """With the arguments of the block, without what it reads from outside."""
        dying = _last_reads(block)
        alive = peak = _bytes(block.args)
        for op in block.ops:
            dead = _bytes(dying[op])
            inside = self._inside(op)
            made = _bytes(op.results)
            # What only this op still reads is what its region starts with: it is not there twice.
            peak = max(peak, alive + made, alive + inside - (dead if inside else 0))
            alive += made - dead - _bytes(result for result in op.results if not any(result.uses))
        return peak

    def _inside(self, op: Operation) -> int:
        if isinstance(op, CallOp):
            return self.of_function(self._functions[op.callee.string_value()])
        blocks = (block for region in op.regions for block in region.blocks)
        return max((self._of_block(block) for block in blocks), default=0)


def _last_reads(block: Block) -> dict[Operation, set[SSAValue]]:
    """Of each op of a block, the values of this block that no later op reads; reads in regions are those of the op."""
    last: dict[SSAValue, Operation] = {}
    ops = list(block.ops)
    for op in ops:
        for inner in (op, *pre_order(op)):
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


def _bytes(values: Iterable[SSAValue]) -> int:
    return sum(tensor_bytes(value.type) for value in values)
