"""Ops whose local forms contain collectives: along which dims exchanging results or slices of shards is possible.

Along all other dims that an op mixes, its tensors must be unsharded.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.facts.traits import are_combiners, combiners_of
from sdy.dialects.sharded_types import element_bytes
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import ReverseOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ReduceWindowOp
from sdy.partitioner.on_shards.combiners import constant_scalar, may_repeat
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds
from sdy.partitioner.on_shards.regrouping import regrouping
from sdy.partitioner.on_shards.selecting_bodies import can_reduce_shards_first
from sdy.partitioner.on_shards.shard_spans import exchange_of
from sdy.partitioner.on_shards.shard_windows import scan_direction

MOST_PERMUTES = 4  # more cost at least as much as an all-gather


def can_exchange_results(op: Operation, dim: int, count: int) -> bool:
    """Return whether `op` has such a form for `count` shards along `dim` of its first operand.

    It must send no more than an all-gather of the operand.
    """
    match op:
        case ReduceOp():
            return _is_worth_it(op, dim, count, 1) and _reduces_shards(op, dim)
        case TopKOp():
            is_selected_dim = dim == len(shape_of(op.operand)) - 1
            return is_selected_dim and _is_worth_it(op, dim, count, op.k.value.data)
        case ReduceWindowOp():
            return scan_direction(op, dim) is not None and _can_combine_totals(op)
        case ConcatenateOp():
            return dim == op.dimension.value.data and _needs_few_permutes(op, dim, count)
        case SliceOp() | PadOp():
            return _has_cheap_exchange(op, dim, count)
        case ReverseOp():  # one permute of whole shards
            return dim in ints_of(op.dimensions) and shape_of(op.operand)[dim] % count == 0
        case _:
            return False


def _is_worth_it(op: Operation, dim: int, count: int, kept: int) -> bool:
    """Return whether `kept` elements of each result have at most the bytes of the operand's shard along `dim`."""
    operand_bytes = shape_of(op.operands[0])[dim] // count * element_bytes(element_type_of(op.operands[0]))
    return kept * sum(element_bytes(element_type_of(result)) for result in op.results) <= operand_bytes


def _reduces_shards(op: ReduceOp, dim: int) -> bool:
    """Return whether each device can reduce its shard, and then the results of all shards, where no all-reduce can.

    If the body depends on the order of elements, the shards must be in that order: `dim` must be the most major reduced
    dim whose size is not 1.
    """
    dims = ints_of(op.dimensions)
    if dim not in dims or reduction_kinds(op) is not None:
        return False
    combiners = combiners_of(op.body.block)
    if combiners is not None:
        return are_combiners(combiners)
    sizes = shape_of(op.inputs[0])
    is_major = all(sizes[other] == 1 for other in dims if other < dim)
    return is_major and can_reduce_shards_first(op.body.block, [constant_scalar(init) for init in op.init_values])


def _can_combine_totals(op: ReduceWindowOp) -> bool:
    """Return whether a cumulative op may combine shard totals: in any order, with initial values that may repeat."""
    combiners = combiners_of(op.body.block)
    if combiners is None or not are_combiners(combiners):
        return False
    return all(
        element_type_of(init) == element_type_of(result) and may_repeat(init, combiner)
        for init, result, combiner in zip(op.init_values, op.results, combiners, strict=True)
    )


def _needs_few_permutes(op: ConcatenateOp, dim: int, count: int) -> bool:
    """Return whether few permutes suffice and no device receives more than one shard.

    This must also hold for every divisor of `count`, because reshards may reduce the number of shards.
    """
    sizes = tuple(shape_of(value)[dim] for value in op.inputs)
    if any(size % count for size in sizes):
        return False
    plans = [regrouping(sizes, divisor) for divisor in range(2, count + 1) if count % divisor == 0]
    return all(plan.permute_count <= MOST_PERMUTES and plan.received <= plan.shard for plan in plans)


def _has_cheap_exchange(op: SliceOp | PadOp, dim: int, count: int) -> bool:
    """Return whether few permutes suffice and send no more than an all-gather of the operand."""
    shard = shape_of(op.operand)[dim] // count
    exchange = exchange_of(op)(dim, count)
    return exchange is not None and exchange.permute_count <= MOST_PERMUTES and exchange.received <= (count - 1) * shard
