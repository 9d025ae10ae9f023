"""Rules of gather and scatter: window dims and index dims pass through, looked-up dims are reduced.

Source: docs/spec/03, 5.16 and 5.17.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.dialects.facts.traits import as_combiner, combiners_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import gather_scatter as ops
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.elementwise import MultiplyOp
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()
NEED_REPLICATION = FactorKind.NEED_REPLICATION


def _other_dims(rank: int, *left_out: Sequence[int]) -> list[int]:
    """Return the dims below `rank` that are in none of the lists, in ascending order."""
    return [dim for dim in range(rank) if not any(dim in dims for dims in left_out)]


@RULES.of(ops.GatherOp)
def gather(op: ops.GatherOp) -> OpShardingRule:
    """`([l, k], [i, j]) -> ([i, j, k])` for a lookup of rows, where l is reduced."""
    numbers = op.dimension_numbers.data
    operand, indices, result = shape_or_empty(op.operand), shape_or_empty(op.start_indices), shape_or_empty(op.result)
    windows = iter(_other_dims(len(operand), numbers.collapsed_slice_dims, numbers.operand_batching_dims))
    index_dims = iter(_other_dims(len(indices), (numbers.index_vector_dim,)))
    batching = dict(zip(numbers.start_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(result):
        if dim in numbers.offset_dims:
            _add_window(builder, operand, next(windows), dim, size)
        else:
            index_dim = next(index_dims)
            builder.factor(size, operands=(batching.get(index_dim), index_dim), results=(dim,))
    for dim in numbers.collapsed_slice_dims:
        kind = NEED_REPLICATION if operand[dim] == 1 else FactorKind.REDUCTION
        builder.factor(operand[dim], operands=(dim, None), results=(None,), kind=kind)
    if numbers.index_vector_dim < len(indices):
        size = indices[numbers.index_vector_dim]
        builder.factor(size, operands=(None, numbers.index_vector_dim), results=(None,), kind=NEED_REPLICATION)
    return builder.build()


def _add_window(builder: RuleBuilder, operand: Sequence[int], window: int, dim: int, size: int) -> None:
    if operand[window] == size:
        builder.factor(size, operands=(window, None), results=(dim,))
    elif size == 1:
        builder.factor(operand[window], operands=(window, None), results=(None,), kind=FactorKind.REDUCTION)
        builder.factor(1, operands=(None, None), results=(dim,), kind=NEED_REPLICATION)
    else:
        builder.factor(operand[window], operands=(window, None), results=(dim,), kind=NEED_REPLICATION, is_blocked=True)


@RULES.of(ops.ScatterOp)
def scatter(op: ops.ScatterOp) -> OpShardingRule:
    """`([l, k], [i, j], [i, j, k]) -> ([l, k])` for an addition of rows, where i and j are reduced."""
    numbers, count = op.scatter_dimension_numbers.data, len(op.inputs)
    operand, indices, update = (
        shape_or_empty(op.inputs[0]),
        shape_or_empty(op.scatter_indices),
        shape_or_empty(op.updates[0]),
    )
    windows = iter(_other_dims(len(operand), numbers.inserted_window_dims, numbers.input_batching_dims))
    index_dims = iter(_other_dims(len(indices), (numbers.index_vector_dim,)))
    batching = dict(zip(numbers.scatter_indices_batching_dims, numbers.input_batching_dims, strict=True))
    index_kind = FactorKind.REDUCTION if is_mergeable(op) else NEED_REPLICATION
    builder = RuleBuilder(*operand_and_result_ranks(op))

    def add(
        size: int, operand_dim: int | None, index_dim: int | None, update_dim: int | None, kind: FactorKind
    ) -> None:
        operands = (*(operand_dim,) * count, index_dim, *(update_dim,) * count)
        builder.factor(size, operands=operands, results=(operand_dim,) * count, kind=kind)

    for dim, size in enumerate(update):
        if dim not in numbers.update_window_dims:
            index_dim = next(index_dims)
            batch = batching.get(index_dim)
            add(size, batch, index_dim, dim, index_kind if batch is None else FactorKind.PASS_THROUGH)
            continue
        window = next(windows)
        if operand[window] == size:
            add(size, window, None, dim, FactorKind.PASS_THROUGH)
        else:
            add(operand[window], window, None, None, NEED_REPLICATION)
            add(size, None, None, dim, NEED_REPLICATION)
    for dim in numbers.inserted_window_dims:
        add(operand[dim], dim, None, None, FactorKind.PASS_THROUGH)
    if numbers.index_vector_dim < len(indices):
        add(indices[numbers.index_vector_dim], None, numbers.index_vector_dim, None, NEED_REPLICATION)
    return builder.build()


def is_mergeable(op: ops.ScatterOp) -> bool:
    """Return whether the body is one commutative op, so that partial results of the scatter can be combined."""
    body = op.update_computation.block
    combiners = combiners_of(body)
    if combiners is None or len(set(combiners)) != 1:
        return False
    combiner = as_combiner(combiners[0])
    kinds = [combiner and combiner.kind_for(element_type_of(value)) for value in body.args[: len(combiners)]]
    # Shardy counts products, which no reduction of partial values combines.
    return combiners[0] is MultiplyOp or all(kinds)
