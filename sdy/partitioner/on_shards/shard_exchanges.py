"""Ops whose shards exchange what each has found, or pieces: along which dims that gives the result of the whole.

Their local forms have the collectives in them. Everywhere else such dims must be whole.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.cost.tensor_bytes import element_bytes
from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ReduceWindowOp
from sdy.partitioner.on_shards.combiners import ORDER_INDEPENDENT, combiners_of, constant_scalar, may_repeat
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds
from sdy.partitioner.on_shards.regrouping import regrouping
from sdy.partitioner.on_shards.selecting_bodies import can_reduce_shards_first
from sdy.partitioner.on_shards.shard_spans import spans_of
from sdy.partitioner.on_shards.shard_windows import scan_direction

MOST_PERMUTES = 4  # more are no better than gathering at once


def can_exchange_results(op: Operation, dim: int, count: int) -> bool:
    """Whether `op` can be run so on `count` shards of `dim` of its first operand, and sends no more than a gather."""
    match op:
        case ReduceOp():
            return _is_worth_it(op, dim, count, 1) and _reduces_shards(op, dim)
        case TopKOp():
            is_chosen_from = dim == len(shape_of(op.operand)) - 1
            return is_chosen_from and _is_worth_it(op, dim, count, op.k.value.data)
        case ReduceWindowOp():
            return scan_direction(op, dim) is not None and _runs_on(op)
        case ConcatenateOp():
            return dim == op.dimension.value.data and _moves_few_pieces(op, dim, count)
        case SliceOp() | PadOp():
            return _moves_to_few(op, dim, count)
        case _:
            return False


def _is_worth_it(op: Operation, dim: int, count: int, kept: int) -> bool:
    """Whether `kept` elements of each result take no more bytes than what a shard of the first operand has of them."""
    given = shape_of(op.operands[0])[dim] // count * element_bytes(element_type_of(op.operands[0]))
    return kept * sum(element_bytes(element_type_of(result)) for result in op.results) <= given


def _reduces_shards(op: ReduceOp, dim: int) -> bool:
    """Whether no all-reduce combines what shards give, but another reduction of that does.

    Where the body has an order, that is the order of the shards: along the most major of the reduced dims.
    """
    dims = ints_of(op.dimensions)
    if dim not in dims or reduction_kinds(op) is not None:
        return False
    combiners = combiners_of(op.body)
    if combiners is not None:
        return ORDER_INDEPENDENT.issuperset(combiners)
    sizes = shape_of(op.inputs[0])
    is_major = all(sizes[other] == 1 for other in dims if other < dim)
    return is_major and can_reduce_shards_first(op.body.block, [constant_scalar(init) for init in op.init_values])


def _runs_on(op: ReduceWindowOp) -> bool:
    """Whether windows may be folded piece by piece: in any order, from initial values that may count several times."""
    combiners = combiners_of(op.body)
    if combiners is None or not ORDER_INDEPENDENT.issuperset(combiners):
        return False
    return all(
        element_type_of(init) == element_type_of(result) and may_repeat(init, combiner)
        for init, result, combiner in zip(op.init_values, op.results, combiners, strict=True)
    )


def _moves_few_pieces(op: ConcatenateOp, dim: int, count: int) -> bool:
    """Whether few permutes bring the pieces of shards to their places, and no more than a shard to any device.

    So it must be for fewer shards as well: of how many there are, reshards have a say.
    """
    sizes = tuple(shape_of(value)[dim] for value in op.inputs)
    if any(size % count for size in sizes):
        return False
    plans = [regrouping(sizes, each) for each in range(2, count + 1) if count % each == 0]
    return all(len(plan.permutes) <= MOST_PERMUTES and plan.received <= plan.shard for plan in plans)


def _moves_to_few(op: SliceOp | PadOp, dim: int, count: int) -> bool:
    """Whether each shard needs no more than a few others have, and less than a gather of the operand would send."""
    shard = shape_of(op.operand)[dim] // count
    found = spans_of(op)(dim, count)
    return found is not None and found.permutes <= MOST_PERMUTES and found.received <= (count - 1) * shard
