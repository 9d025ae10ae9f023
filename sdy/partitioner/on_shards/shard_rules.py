"""Rules on shards: sharding rules with which each device can run an op on its shards alone.

A rule on shards is the sharding rule of the op, with need-replication factors for dims along which elements move or
which no all-reduce completes. Ops without propagation also have one; in the worst case it replicates all tensors.
Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.data_flow import DATA_FLOW_OPS
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import collectives as sdy_collectives
from sdy.dialects.sdy import ops as sdy_ops
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import (
    control,
    elementwise,
    gather_scatter,
    linalg,
    random,
    reduction,
    shape,
    slicing,
    window,
)
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_offsets import shard_shifts_of
from sdy.partitioner.on_shards.shard_windows import halos_of, tiles_shards, window_dim_of_update
from sdy.rules.all import RULE_ATTRIBUTE, RULES, rule_key, sharding_rule
from sdy.rules.elementwise import pointwise

REPLICATED = FactorKind.NEED_REPLICATION
Factors = Iterable[FactorIndex]

# Ops that compute nothing, or only pass values to regions, functions or results.
WITHOUT_RULE = frozenset[type[Operation]](
    (
        ModuleOp,
        FuncOp,
        CallOp,
        *sdy_ops.OPS,
        *sdy_collectives.OPS,
        *DATA_FLOW_OPS,
        control.IfOp,
        shape.ConstantOp,
        shape.IotaOp,
        shape.GetDimensionSizeOp,
    )
)

# Ops whose factors are shardable for some shard counts only.
COUNT_DEPENDENT = frozenset[type[Operation]](
    (
        slicing.ConcatenateOp,
        slicing.PadOp,
        slicing.SliceOp,
        reduction.ReduceOp,
        window.ConvolutionOp,
        window.ReduceWindowOp,
        TopKOp,
    )
)

# Ops whose new dims each device can compute for its shard: they repeat elements, or generate random bits.
REPEATING = frozenset[type[Operation]]((shape.BroadcastInDimOp, shape.BroadcastOp, random.RngBitGeneratorOp))

# Rules of ops without one in Shardy.
FURTHER_RULES = OpTable[OpShardingRule | None]()
FURTHER_RULES.of(control.MapOp, *chlo.OPS, *(each for each in elementwise.OPS if each not in RULES))(pointwise)


@FURTHER_RULES.of(shape.BroadcastOp)
def broadcast(op: shape.BroadcastOp) -> OpShardingRule:
    """`([j]) -> ([i, j])`: new dims come first."""
    sizes = _shape(op.result)
    new = len(sizes) - len(_shape(op.operand))
    builder = RuleBuilder((len(sizes) - new,), (len(sizes),))
    for dim, size in enumerate(sizes):
        builder.factor(size, operands=(dim - new if dim >= new else None,), results=(dim,))
    return builder.build()


@FURTHER_RULES.of(linalg.BatchNormTrainingOp, linalg.BatchNormGradOp)
def batch_norm(op: linalg.BatchNormTrainingOp | linalg.BatchNormGradOp) -> OpShardingRule:
    """`([i, j], [j], [j]) -> ([i, j], [j], [j])`: j are the features; all other dims are averaged."""
    ranks = ([len(_shape(value)) for value in values] for values in (op.operands, op.results))
    builder = RuleBuilder(*ranks)
    for dim, size in enumerate(_shape(op.operand)):
        is_feature = dim == op.feature_index.value.data
        dims = [
            tuple(dim if len(_shape(value)) > 1 else 0 if is_feature else None for value in values)
            for values in (op.operands, op.results)
        ]
        builder.factor(size, dims[0], dims[1], FactorKind.PASS_THROUGH if is_feature else REPLICATED)
    return builder.build()


@FURTHER_RULES.of(TopKOp)
def top_k(op: TopKOp) -> OpShardingRule:
    """`([i, j]) -> ([i, k], [i, k])`: the k largest elements are selected from the full last dim."""
    *batch, size = _shape(op.operand)
    last = len(batch)
    builder = RuleBuilder((last + 1,), (last + 1, last + 1))
    for dim, rows in enumerate(batch):
        builder.spread(dim, rows)
    builder.factor(size, operands=(last,), results=(None, None), kind=REPLICATED)
    builder.factor(op.k.value.data, operands=(None,), results=(last, last), kind=REPLICATED)
    return builder.build()


def sharded_op_key(op: Operation, shardings: Iterable[TensorSharding | None]) -> Hashable:
    """Return a key that is equal for ops with the same checks on shards. `shardings` are those of operands and results.

    The key is valid until the op is changed.
    """
    signature = None if op.regions else rule_key(op)
    return op if signature is None else (signature, *shardings)


def known_rule(op: Operation) -> OpShardingRule | None:
    """Return the rule on shards of `op`, None if its behavior is unknown."""
    rule = sharding_rule(op)
    if rule is None or rule.is_custom:
        # A custom rule describes propagation, not the op. For custom calls, it is the only description.
        rule = RULES.get(op) or FURTHER_RULES.get(op) or rule
    return None if rule is None else _with_replicated_factors(op, rule)


def _with_replicated_factors(op: Operation, rule: OpShardingRule) -> OpShardingRule:
    replicated_factors, shardable_factors = REPLICATED_FACTORS.get(type(op)), SHARDABLE_FACTORS.get(type(op))
    replicated = {
        *(
            rule.need_replication
            if shardable_factors is None
            else set(rule.need_replication) - {*shardable_factors(op, rule)}
        ),
        *rule.permutation,
        *_factors_of_one_side(rule, type(op) in REPEATING),
        *(() if replicated_factors is None else replicated_factors(op, rule)),
    }
    return with_need_replication(rule, replicated)


def shard_rule(op: Operation) -> OpShardingRule | None:
    """Return the rule on shards of `op`, None if the op computes nothing.

    All tensors of an op with unknown behavior must be replicated.
    """
    has_no_rule = type(op) in WITHOUT_RULE or isinstance(op, UnregisteredOp) or op.has_trait(IsTerminator)
    return None if has_no_rule else known_rule(op) or _replicated_rule(op)


def can_run_on_shards(op: Operation, dim: int, count: int) -> bool:
    """Return whether an op that moves elements along `dim` of its first operand can run on `count` shards of it.

    It can if no element leaves its shard, if halos of neighbors suffice, or if the results of shards can be exchanged.
    """
    match op:
        case slicing.SliceOp() | slicing.PadOp():
            return shard_shifts_of(op)(dim, count) is not None or can_exchange_results(op, dim, count)
        case window.ReduceWindowOp():
            return tiles_shards(op, dim, count) or can_exchange_results(op, dim, count)
        case window.ConvolutionOp():
            return halos_of(op)(dim, count) is not None
        case _:
            return can_exchange_results(op, dim, count)


def rule_for_shard_counts(op: Operation, counts: Sequence[int]) -> OpShardingRule | None:
    """Return the rule of an op whose first operand has `counts` shards along its dims, None if its behavior is unknown.

    Dims along which the op can run on that many shards do not need replication.
    """
    rule = known_rule(op)
    if rule is None:
        return None
    shardable = {
        factor
        for dim, (count, factors) in enumerate(zip(counts, rule.operands[0], strict=True))
        if count > 1 and can_run_on_shards(op, dim, count)
        for factor in factors
    }
    return with_need_replication(rule, {*rule.need_replication} - shardable)


def allowed_shard_counts(op: Operation, counts: Iterable[int]) -> dict[FactorIndex, frozenset[int]]:
    """Return the allowed shard counts of each factor that is shardable for some counts only.

    Only an op with a rule attribute has such factors, because the attribute was computed for its present shard counts.
    """
    may_depend_on_count = type(op) in COUNT_DEPENDENT and RULE_ATTRIBUTE in op.attributes
    rule = RULES.get(op) or FURTHER_RULES.get(op) if may_depend_on_count else None
    if rule is None:
        return {}
    replicated = set(_with_replicated_factors(op, rule).need_replication)
    return {
        factor: frozenset(count for count in counts if can_run_on_shards(op, dim, count))
        for dim, factors in enumerate(rule.operands[0])
        for factor in replicated.intersection(factors)
    }


def with_need_replication(rule: OpShardingRule, factors: Factors) -> OpShardingRule:
    """Return the rule with exactly `factors` as need-replication factors."""
    need_replication = tuple(sorted(factors))
    if need_replication == rule.need_replication and not {*need_replication}.intersection(
        (*rule.permutation, *rule.reduction)
    ):
        return rule  # the common case
    return replace(
        rule,
        need_replication=need_replication,
        permutation=tuple(each for each in rule.permutation if each not in need_replication),
        reduction=tuple(each for each in rule.reduction if each not in need_replication),
    )


def _replicated_rule(op: Operation) -> OpShardingRule:
    shapes = [[_shape(value) for value in values] for values in (op.operands, op.results)]
    builder = RuleBuilder(*([len(each) for each in side] for side in shapes))
    for side, tensors in enumerate(shapes):
        for index, sizes in enumerate(tensors):
            for dim, size in enumerate(sizes):
                dims: list[list[int | None]] = [[None] * len(each) for each in shapes]
                dims[side][index] = dim
                builder.factor(size, dims[0], dims[1], REPLICATED)
    return builder.build()


@lru_cache(maxsize=4096)
def _factors_of_one_side(rule: OpShardingRule, repeats: bool) -> tuple[FactorIndex, ...]:
    """Return the pass-through factors that are in no operand or in no result: devices would compute partial results.

    An op that `repeats` elements may have factors that are in no operand.
    """
    operands, results = (
        {factor for mapping in side for factors in mapping for factor in factors}
        for side in (rule.operands, rule.results)
    )
    allowed = results if repeats else operands & results
    return tuple(
        factor
        for factor in map(FactorIndex, range(len(rule.factor_sizes)))
        if rule.factor_sizes[factor] > 1 and rule.kind(factor) is FactorKind.PASS_THROUGH and factor not in allowed
    )


def _shape(value: SSAValue) -> tuple[int, ...]:
    return static_shape(value.type) or ()


# Further need-replication factors of specific ops


def _factors_of_dim(rule: OpShardingRule, operand: int, dim: int) -> Factors:
    return rule.operands[operand][dim]


def _without_all_reduce(op: Operation, rule: OpShardingRule) -> Factors:
    """Return the reduction factors if no all-reduce combines values as the body does."""
    return rule.reduction if reduction_kinds(op) is None else ()


def _spatial_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield spatial dims, along which windows require neighbors. One window over a full dim is a reduction instead."""
    assert isinstance(op, window.ConvolutionOp)
    numbers = op.dimension_numbers.data
    spatial = (
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
    )
    for index, (dim, kernel_dim, result_dim) in enumerate(zip(*spatial, strict=True)):
        yield from rule.results[0][result_dim]
        if not _is_one_plain_window(op, index, _shape(op.lhs)[dim], _shape(op.rhs)[kernel_dim]):
            yield from _factors_of_dim(rule, 0, dim)
            yield from _factors_of_dim(rule, 1, kernel_dim)


def _is_one_plain_window(op: window.ConvolutionOp, index: int, size: int, kernel_size: int) -> bool:
    padding = (0, 0) if op.padding is None else op.padding.get_ints()[2 * index : 2 * index + 2]
    dilations = [ints_of(each)[index] for each in (op.lhs_dilation, op.rhs_dilation) if each is not None]
    is_reversed = op.window_reversal is not None and bool(ints_of(op.window_reversal)[index])
    return size == kernel_size and not any(padding) and set(dilations) <= {1} and not is_reversed


def _base_dilated_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield dims with base dilation, which the sharding rule does not consider."""
    assert isinstance(op, window.ReduceWindowOp)
    for dim, dilation in enumerate(() if op.base_dilations is None else ints_of(op.base_dilations)):
        if dilation > 1:
            yield from _factors_of_dim(rule, 0, dim)


def _sorted_dim(op: Operation, rule: OpShardingRule) -> Factors:
    """Return the sorted dim, which the sharding rule misses if it is negative."""
    assert isinstance(op, linalg.SortOp)
    dim = op.dimension.value.data
    return _factors_of_dim(rule, 0, dim % len(rule.operands[0]))


def _padded_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield dims whose elements move. Without interior padding and change of size, shards exchange edges instead."""
    assert isinstance(op, slicing.PadOp)
    sizes, results = _shape(op.operand), _shape(op.result)
    amounts = zip(ints_of(op.edge_padding_low), ints_of(op.interior_padding), strict=True)
    for dim, (low, interior) in enumerate(amounts):
        if (low and sizes[dim] != results[dim]) or (interior and sizes[dim] > 1):
            yield from _factors_of_dim(rule, 0, dim)


def unit_update_factors(op: gather_scatter.ScatterOp, rule: OpShardingRule) -> Factors:
    """Yield dims of the input along which updates have one element."""
    for dim in range(len(_shape(op.inputs[0]))):
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and _shape(op.updates[0])[update_dim] == 1:
            yield from _factors_of_dim(rule, 0, dim)


def _indexed_partial_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield indexed dims of the input along which updates are smaller than it: the index determines their shards."""
    assert isinstance(op, gather_scatter.ScatterOp)
    for dim in op.scatter_dimension_numbers.data.scatter_dims_to_operand_dims:
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and _shape(op.updates[0])[update_dim] < _shape(op.inputs[0])[dim]:
            yield from _factors_of_dim(rule, 0, dim)


def _unindexed_or_covered_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield inserted dims that no index addresses, and indexed dims that an update covers."""
    assert isinstance(op, gather_scatter.ScatterOp)
    numbers = op.scatter_dimension_numbers.data
    for dim, size in enumerate(_shape(op.inputs[0])):
        update_dim = window_dim_of_update(op, dim)
        is_indexed = dim in numbers.scatter_dims_to_operand_dims
        is_unindexed = dim in numbers.inserted_window_dims and not is_indexed
        is_covered = is_indexed and update_dim is not None and _shape(op.updates[0])[update_dim] == size
        if is_unindexed or is_covered:
            yield from _factors_of_dim(rule, 0, dim)


REPLICATED_FACTORS: dict[type[Operation], Callable[[Operation, OpShardingRule], Factors]] = {
    window.ConvolutionOp: _spatial_dims,
    reduction.ReduceOp: _without_all_reduce,
    window.ReduceWindowOp: _base_dilated_dims,
    linalg.SortOp: _sorted_dim,
    slicing.PadOp: _padded_dims,
    gather_scatter.ScatterOp: _unindexed_or_covered_dims,
}
# Factors that need no replication on shards although the sharding rule marks them.
SHARDABLE_FACTORS: dict[type[Operation], Callable[[Operation, OpShardingRule], Factors]] = {
    gather_scatter.ScatterOp: _indexed_partial_dims,
}
