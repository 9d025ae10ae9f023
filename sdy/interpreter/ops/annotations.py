"""Kernels of the `sdy` ops that say how a value is laid out: on whole tensors they compute nothing."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy import ops
from sdy.dialects.sdy.collectives import (
    AllGatherOp,
    AllSliceOp,
    AllToAllOp,
    CollectivePermuteOp,
)
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.interpreter.arrays.elements import array_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Kernel, KernelTable

KERNELS = KernelTable()


@KERNELS.of(
    AllGatherOp,
    AllSliceOp,
    AllToAllOp,
    CollectivePermuteOp,
    ops.DataFlowEdgeOp,
    ops.FuncDataFlowEdgeOp,
    ops.PropagationBarrierOp,
    ops.ReshardOp,
    ops.ShardingConstraintOp,
)
def identity(_op: Operation) -> Kernel:
    """The operand: only its layout changes."""
    return lambda _context, arrays: arrays


@KERNELS.of(ops.ShardingGroupOp, ops.MeshOp)
def nothing(_op: Operation) -> Kernel:
    """No results."""
    return lambda _context, _arrays: ()


@KERNELS.of(ops.ConstantOp)
def constant(op: ops.ConstantOp) -> Kernel:
    """The elements, the same on every device. Raises: SdyError SDY-X002 where they are not written out."""
    if not isinstance(op.value, DenseElementsAttr):
        raise failure("SDY-X002", f"{op.name} holds {op.value}, which is no list of elements")
    array = array_of(op.value.data)
    return lambda context, _: (context.replicated(array),)


@KERNELS.of(NamedComputationOp)
def named_computation(op: NamedComputationOp) -> Kernel:
    """What the body returns."""
    body = op.body.block
    return lambda context, arrays: context.runner.run_block(context, body, arrays, ())
