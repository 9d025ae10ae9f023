"""Local form of `rng_bit_generator`: every device generates all bits and keeps its shard.

The bits are therefore those of the global program for every algorithm. Source: docs/spec/06, 8.1 (G5).
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.random import RngBitGeneratorOp
from sdy.partitioner.emit.device_position import own_shard
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards

FORMS = OpTable[LocalForm]()


@FORMS.of(RngBitGeneratorOp)
@of_shards
def rng_bit_generator(op: RngBitGeneratorOp, lowering: Lowering) -> None:
    """Emit the op with the global shape, and slice its result."""
    sharding = lowering.shardings.of(op.output)
    if sharding is None or sharding.is_fully_replicated:
        return
    emit = lowering.emitter(op)
    types = [op.output_state.type, op.output.type]
    generated = emit.op(RngBitGeneratorOp, [op.initial_state], types, {"rng_algorithm": op.rng_algorithm})
    axes = tuple(dim.axes for dim in sharding.dims)
    lowering.replace(
        op, generated.output_state, own_shard(emit, generated.output, axes, lowering.shardings.mesh(sharding))
    )
