"""The memory of the values that a loop carries: each has one buffer before, in and after the loop.

The next value is written to the buffer of the current one, if no op reads that later. Otherwise, the next value needs
memory of its own, and is copied at the end of the iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from sdy.cost.allocation.fusion import IN_PLACE, Fusion
from sdy.cost.lifetimes import LifetimeStep, last_reads
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, pre_order
from sdy.dialects.stablehlo.control import OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.shape import ReshapeOp

CARRYING = (WhileOp, OptimizationBarrierOp)  # their results have the memory of their operands


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

    def add(self, loop: WhileOp, fusion: Fusion) -> None:
        """Decide for each carried value of a loop where its next value is stored."""
        block = loop.body.block
        end = block.last_op
        assert end is not None  # verified
        self.bodies.add(block)
        ops = list(block.ops)
        positions = {op: number for number, op in enumerate(ops)}
        last = last_reads([_step(op, fusion) for op in ops])
        for argument, following in zip(block.args, operands_of(end), strict=True):
            op = _stored(following)
            number = -1 if op is None else positions.get(op, -1)
            read = last.get(argument, -1)
            if op is None or number < read or (number == read and type(op) not in (*IN_PLACE, *CARRYING)):
                self.until_end.setdefault(end, []).append(argument)
            elif type(op) not in CARRYING or number != read:
                self.overwritten.setdefault(op, []).append(argument)


def loop_buffers(module: ModuleOp, fusion: Fusion) -> LoopBuffers:
    """Return the memory of what the loops of a module carry."""
    found = LoopBuffers()
    for op in pre_order(module):
        if isinstance(op, WhileOp):
            found.add(op, fusion)
    return found


def _step(op: Operation, fusion: Fusion) -> LifetimeStep[SSAValue]:
    block = op.parent
    is_end = block is not None and op is block.last_op
    inner = () if is_end else op_and_nested_ops(op)
    reads = [value for reader in inner for value in operands_of(reader) if block_of(value) is block]
    return LifetimeStep(reads, op.results, is_fused=fusion.is_fused(op))


def _stored(value: SSAValue) -> Operation | None:
    """Return the op that stores a value, before it is reshaped; None for arguments."""
    while isinstance(value, OpResult) and isinstance(value.op, ReshapeOp):
        value = value.op.operand
    return value.op if isinstance(value, OpResult) else None
