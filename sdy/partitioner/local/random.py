"""Random bits on one shard: every device draws all of them, and keeps its part.

So the bits are those of the whole program, whatever the algorithm. Source: docs/spec/06, 8.1 (G5).
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.random import RngBitGeneratorOp
from sdy.partitioner.local.lowering import LocalForm, Lowering

FORMS = OpTable[LocalForm]()


@FORMS.of(RngBitGeneratorOp)
def rng_bit_generator(op: RngBitGeneratorOp) -> LocalForm:
    """The op as it is, and a slice of its bits."""

    def lower(lowering: Lowering) -> None:
        sharding = lowering.sharding(op.output)
        if sharding is None or sharding.is_fully_replicated:
            return
        emit = lowering.emitter(op)
        types = [op.output_state.type, op.output.type]
        drawn = emit.op(RngBitGeneratorOp, [op.initial_state], types, {"rng_algorithm": op.rng_algorithm})
        axes = tuple(dim.axes for dim in sharding.dims)
        lowering.replace(op, drawn.output_state, emit.own_slice(drawn.output, axes, lowering.mesh(sharding)))

    return lower
