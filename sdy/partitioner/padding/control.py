"""Padding rules of the arguments of bodies, which are applied before the ops of the bodies are padded.

Source: docs/spec/06, 8.2 (G40, G48).
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.partitioner.padding.padder import Padder, padding_error

ARGUMENT_RULES = OpTable[None, [Padder]]()


@ARGUMENT_RULES.of(WhileOp, NamedComputationOp)
def body_arguments(op: Operation, padder: Padder) -> None:
    """Pad arguments that are global tensors."""
    for region in op.regions:
        padder.resize_to_targets(region.block.args)


@ARGUMENT_RULES.of(ManualComputationOp)
def manual_arguments(op: ManualComputationOp, padder: Padder) -> None:
    """Pad arguments that are shards; the padding of a dim must be at its end in the global and the local tensor."""
    shardings = ((op.tensors, op.in_shardings.data), (op.results, op.out_shardings.data))
    for values, per_value in shardings:
        for value, sharding in zip(values, per_value, strict=True):
            even = padder.facts.even_sizes(padder.facts.true_sizes(value), sharding)
            for dim, size, own in zip(sharding.dims, even, padder.facts.true_sizes(value), strict=True):
                is_manual = {ref.name in op.manual_axes.data for ref in dim.axes}
                if size != own and len(is_manual) > 1:
                    raise padding_error(op, value, padder.facts)
    padder.resize_to_targets(op.body.block.args)
