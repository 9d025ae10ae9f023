"""The memory of the values that a loop carries: each has one buffer before, in and after the loop.

The next value is written to the buffer of the current one, if no op reads that later. Otherwise, the next value needs
memory of its own, and is copied at the end of the iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from sdy.cost.allocation.fusion import Fusion
from sdy.cost.lifetimes import LifetimeStep, last_reads
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, ops_in, pre_order
from sdy.dialects.stablehlo.control import OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.shape import ReshapeOp


@dataclass(slots=True)
class LoopBuffers:
    """The carried values that an op overwrites with their next values, and those that live to the end of a body."""

    overwritten: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    until_end: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    bodies: set[Block] = field(default_factory=set[Block])

    def later_values(self) -> Iterator[SSAValue]:
        """Yield the carried values whose memory is in use after the last op that reads them."""
        for values in (*self.overwritten.values(), *self.until_end.values()):
            yield from values

    def add(self, loop: WhileOp, reads: _Reads) -> None:
        """Decide for each carried value of a loop where its next value is stored."""
        block = loop.body.block
        end = block.last_op
        assert end is not None  # verified
        self.bodies.add(block)
        for argument, following in zip(block.args, operands_of(end), strict=True):
            op = _stored(following).owner
            if not reads.may_overwrite(argument, following):
                self.until_end.setdefault(end, []).append(argument)
            elif isinstance(op, Operation) and (not keeps_buffers(op) or reads.last(argument) != reads.number(op)):
                self.overwritten.setdefault(op, []).append(argument)


def keeps_buffers(op: Operation) -> bool:
    """Return whether result i of an op has the memory of its operand i."""
    return isinstance(op, WhileOp | OptimizationBarrierOp)


def loop_buffers(module: ModuleOp, fusion: Fusion) -> LoopBuffers:
    """Return the memory of what the loops of a module carry."""
    found, reads = LoopBuffers(), _Reads(fusion, functions_of(module))
    for op in pre_order(module):
        if isinstance(op, WhileOp):
            found.add(op, reads)
    return found


@dataclass(slots=True)
class _Reads:
    """The order of the ops of each block, and the last ones that read its values."""

    fusion: Fusion
    functions: Mapping[str, FuncOp]
    _numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _last: dict[Block, dict[SSAValue, int]] = field(default_factory=dict[Block, dict[SSAValue, int]])

    def number(self, op: Operation) -> int:
        """Return the number of an op in its block, among the blocks whose values `last` was asked about."""
        return self._numbers[op]

    def last(self, argument: SSAValue) -> int:
        """Return the number of the last op that reads an argument of a block; -1 if none does."""
        block = block_of(argument)
        assert block is not None  # of an argument
        if block not in self._last:
            ops = ops_in(block)
            self._numbers.update((op, number) for number, op in enumerate(ops))
            self._last[block] = last_reads([_step(op, block, self.fusion) for op in ops])
        return self._last[block].get(argument, -1)

    def may_overwrite(self, argument: SSAValue, value: SSAValue, called: frozenset[str] = frozenset()) -> bool:
        """Return whether an op that computes a value of a block may store it in the memory of an argument.

        A compiler inlines calls, so the op may be in the function that is called.
        """
        read, stored = self.last(argument), _stored(value)
        if not isinstance(stored, OpResult) or stored.op.parent is not block_of(argument):
            return False
        op, number = stored.op, self.number(stored.op)
        if number != read or not isinstance(op, CallOp) or self.fusion.is_kernel_call(op):
            return number > read or (number == read and (keeps_buffers(op) or self.fusion.is_in_place(op)))
        callee = op.callee.string_value()
        block = self.functions[callee].body.block
        if block.last_op is None or callee in called:
            return False
        returned = operands_of(block.last_op)[stored.index]
        passed = (inner for inner, operand in zip(block.args, operands_of(op), strict=True) if operand is argument)
        return all(self.may_overwrite(inner, returned, called | {callee}) for inner in passed)


def reads_of(op: Operation, block: Block) -> list[SSAValue]:
    """Return the values of a block that an op reads, including reads in its regions."""
    readers = op_and_nested_ops(op) if op.regions else (op,)
    return [value for reader in readers for value in operands_of(reader) if block_of(value) is block]


def _step(op: Operation, block: Block, fusion: Fusion) -> LifetimeStep[SSAValue]:
    """Return what an op reads, where the end of a block reads nothing."""
    reads = () if op is block.last_op else reads_of(op, block)
    return LifetimeStep(reads, op.results, is_fused=fusion.is_fused(op))


def _stored(value: SSAValue) -> SSAValue:
    """Return the value that is stored, before it is reshaped."""
    while isinstance(value, OpResult) and isinstance(value.op, ReshapeOp):
        value = value.op.operand
    return value
