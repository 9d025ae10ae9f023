"""Ties of collectives, and of random bits, which differ between devices as well."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.random import RngBitGeneratorOp
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(ops.AllReduceOp, ops.CollectivePermuteOp, ops.CollectiveBroadcastOp, ops.CrossReplicaSumOp)
def _same(op: Operation, ties: Ties) -> None:
    ties.all_same(op.operands, op.results)


@TABLE.of(ops.AllGatherOp, ops.ReduceScatterOp)
def _gather_or_scatter(op: ops.AllGatherOp | ops.ReduceScatterOp, ties: Ties) -> None:
    dim = op.all_gather_dim if isinstance(op, ops.AllGatherOp) else op.scatter_dimension
    _multiples(ties, op, dim.value.data)


@TABLE.of(ops.AllToAllOp)
def _all_to_all(op: ops.AllToAllOp, ties: Ties) -> None:
    split, concat = op.split_dimension.value.data, op.concat_dimension.value.data
    _multiples(ties, op, split, concat)
    if split == concat:
        for operand in op.operands:
            parts = ties.classes.new(shape_of(operand)[split] // op.split_count.value.data)
            _, after, positions = ties.mesh.sizes.get(op, (0, None, None))
            ties.tie_ratio(parts, ties.of(operand)[split], after, positions)


def _multiples(ties: Ties, op: Operation, *dims: int) -> None:
    """Tie all dims of operands and results, and along `dims` the multiples: the smaller size is that of a part."""
    _, after, positions = ties.mesh.sizes.get(op, (0, None, None))
    for operand, result in zip(op.operands, op.results, strict=True):
        sizes = shape_of(operand), shape_of(result)
        ties.same_dims(operand, result, but=dims)
        for dim in set(dims):
            ones = ties.of(operand)[dim], ties.of(result)[dim]
            if sizes[0][dim] == sizes[1][dim]:
                ties.tie(*ones)
            elif sizes[0][dim] < sizes[1][dim]:
                ties.tie_ratio(ones[0], ones[1], after, positions)
            else:
                ties.tie_ratio(ones[1], ones[0], after, positions)
        ties.values.same(operand, result)


@TABLE.of(RngBitGeneratorOp)
def _rng_bit_generator(op: RngBitGeneratorOp, ties: Ties) -> None:
    ties.lock(op.initial_state, "the state of a random generator")
    ties.same_dims(op.initial_state, op.output_state)
    ties.of(op.output)
