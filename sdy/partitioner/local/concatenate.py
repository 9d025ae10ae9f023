"""Local form of `concatenate`: along a sharded dim, devices exchange slices of their shards."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.partitioner.local.edge_exchange import ShardedDim
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.regroup import RegroupingEmitter
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.regrouping import regrouping

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@CHECKS.of(ConcatenateOp)
def check_concatenate(op: ConcatenateOp, checks: ShardChecks) -> None:
    """Check that all tensors are sharded alike along the concatenated dim and that few permutes exchange their slices.

    Without the style option `regroups_shards` they must be unsharded along it, as in Shardy.
    """
    if checks.style.regroups_shards:
        checks.check_on_shards(op)
    else:
        checks.check_agreement(op)


@FORMS.of(ConcatenateOp)
@of_shards
def concatenate(op: ConcatenateOp, lowering: Lowering) -> None:
    """Concatenate the shards, and send other devices the slices that they hold in the result."""
    dim = op.dimension.value.data
    sizes = tuple(lowering.global_shape(value)[dim] for value in op.inputs)
    axes, sharding = lowering.shardings.dim_axes(op.result, dim), lowering.shardings.of(op.result)
    if not axes or sharding is None:
        lowering.make_local(op.result, op)
        return
    emit = lowering.emitter(op)
    emitter = RegroupingEmitter(emit, ShardedDim(dim, axes, lowering.shardings.mesh(sharding)))
    plan = regrouping(sizes, lowering.shardings.shard_count(op.result, dim))
    lowering.replace(op, emitter.assembled(emitter.available(emit.concatenate(op.inputs, dim), [plan]), plan))
