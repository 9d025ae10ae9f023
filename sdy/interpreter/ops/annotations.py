"""Kernels of the `sdy` ops that describe shardings: on global tensors they compute nothing."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import PassesThrough, has_fact
from sdy.dialects.sdy import collectives, ops
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Kernel, KernelTable

KERNELS = KernelTable()


@KERNELS.of(
    *collectives.OPS,
    *(each for each in ops.OPS if has_fact(each, PassesThrough)),
)
def identity(_op: Operation) -> Kernel:
    """Return the operand: only its sharding changes."""
    return lambda _context, arrays: arrays


@KERNELS.of(ops.ShardingGroupOp, ops.MeshOp)
def nothing(_op: Operation) -> Kernel:
    """Return no results."""
    return lambda _context, _arrays: ()


@KERNELS.of(ops.ConstantOp)
def constant(op: ops.ConstantOp) -> Kernel:
    """Return the constant, the same on every device. Raises: SdyError SDY-X002 if it lists no elements."""
    if not isinstance(op.value, DenseElementsAttr):
        raise failure("SDY-X002", f"{op.name}: expected a list of elements, got {op.value}")
    array = array_of(op.value.data)
    return lambda context, _: (context.replicated(array),)


@KERNELS.of(NamedComputationOp)
def named_computation(op: NamedComputationOp) -> Kernel:
    """Run the body."""
    body = op.body.block
    return lambda context, arrays: context.runner.run_block(context, body, arrays, ())
