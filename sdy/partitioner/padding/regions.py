"""Padding of ops with bodies: the arguments of the bodies are padded before the ops in them.

Source: docs/spec/06, 8.2 (G40, G48).
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.partitioner.padding.padder import Padder, Rule

ENTERING = OpTable[Rule]()  # what is done before the ops in the body are looked at


@ENTERING.of(WhileOp, NamedComputationOp)
def body_arguments(op: Operation) -> Rule:
    """The arguments are whole tensors."""

    def pad(padder: Padder) -> None:
        for region in op.regions:
            padder.make_even(region.block.args)

    return pad


@ENTERING.of(ManualComputationOp)
def manual_arguments(op: ManualComputationOp) -> Rule:
    """The arguments are shards. The padding of a dim must be at its end in both views of it."""
    shardings = ((op.tensors, op.in_shardings.data), (op.results, op.out_shardings.data))

    def pad(padder: Padder) -> None:
        for values, per_value in shardings:
            for value, sharding in zip(values, per_value, strict=True):
                even = padder.even_sizes(padder.true_sizes(value), sharding)
                for dim, size, own in zip(sharding.dims, even, padder.true_sizes(value), strict=True):
                    is_manual = {ref.name in op.manual_axes.data for ref in dim.axes}
                    if size != own and len(is_manual) > 1:
                        raise padder.refuse(op, value)
        padder.make_even(op.body.block.args)

    return pad
