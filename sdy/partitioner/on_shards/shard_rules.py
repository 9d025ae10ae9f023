"""Rules on shards: sharding rules with which each device can run an op on its shards alone.

A rule on shards is the sharding rule of the op, with need-replication factors for dims along which elements move or
which no all-reduce completes. Ops without propagation also have one; in the worst case it replicates all tensors.
Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from sdy.dialects.stablehlo import (
    slicing,
    window,
)
from sdy.dialects.stablehlo.calls import is_callback_on_shards
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.shard_facts import Factors, facts_of
from sdy.partitioner.on_shards.shard_shifts import shard_shifts_of
from sdy.partitioner.on_shards.shard_windows import halos_of, kernel_halos_of, pooling_halos_of, tiles_shards
from sdy.rules.all import RULE_ATTRIBUTE, RULES, rule_key, sharding_rule
from sdy.rules.partitioner_rules import LENIENT_RULES, own_rule
from sdy.rules.tensors import shape_or_empty

REPLICATED = FactorKind.NEED_REPLICATION


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
        rule = own_rule(op) or rule
    lenient = LENIENT_RULES.get(op)
    if lenient is not None and rule == RULES.get(op):  # not a rule for present shard counts, in an attribute
        rule = lenient
    return None if rule is None else _with_replicated_factors(op, rule)


def _with_replicated_factors(op: Operation, rule: OpShardingRule) -> OpShardingRule:
    facts = facts_of(op)
    shardable: Factors = () if facts.shardable is None else facts.shardable(op, rule)
    replicated = {
        *{*rule.need_replication, *rule.permutation}.difference(shardable),
        *_factors_of_one_side(rule, facts.repeats),
        *(() if facts.replicated is None else facts.replicated(op, rule)),
    }
    return with_need_replication(rule, replicated)


def shard_rule(op: Operation) -> OpShardingRule | None:
    """Return the rule on shards of `op`, None if the op computes nothing.

    All tensors of an op with unknown behavior must be replicated.
    """
    has_no_rule = not facts_of(op).has_rule or isinstance(op, UnregisteredOp) or op.has_trait(IsTerminator)
    return None if has_no_rule or is_callback_on_shards(op) else known_rule(op) or _replicated_rule(op)


def can_run_on_shards(op: Operation, dim: int, count: int) -> bool:
    """Return whether an op that moves elements along `dim` of its first operand can run on `count` shards of it.

    It can if no element leaves its shard, if halos of neighbors suffice, or if the results of shards can be exchanged.
    """
    match op:
        case slicing.SliceOp() | slicing.PadOp():
            return shard_shifts_of(op)(dim, count) is not None or can_exchange_results(op, dim, count)
        case window.ReduceWindowOp():
            has_halo = pooling_halos_of(op)(dim, count) is not None
            return has_halo or tiles_shards(op, dim, count) or can_exchange_results(op, dim, count)
        case window.ConvolutionOp():
            return any(halo_along(dim, count) is not None for halo_along in (halos_of(op), kernel_halos_of(op)))
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
        for dim, count in enumerate(counts)
        if count > 1 and can_run_on_shards(op, dim, count)
        for factor in _factors_on_shards(op, rule, dim, count)
    }
    reduced = {*rule.reduction, *_kernel_factors(op, rule)} & {*rule.reduction, *shardable}
    lenient = with_need_replication(rule, {*rule.need_replication} - shardable)
    return lenient if reduced == {*rule.reduction} else replace(lenient, reduction=tuple(sorted(reduced)))


def _factors_on_shards(op: Operation, rule: OpShardingRule, dim: int, count: int) -> Factors:
    """Return the factors of a dim of the first operand along which an op can run on shards of it.

    Along a dim of a convolution, either its windows or the positions in a window are sharded.
    """
    factors = rule.operands[0][dim]
    if not isinstance(op, window.ConvolutionOp):
        return factors
    kernel = {*_kernel_factors(op, rule)}
    has_windows, has_kernel = (each(op)(dim, count) is not None for each in (halos_of, kernel_halos_of))
    return tuple(factor for factor in factors if (has_kernel if factor in kernel else has_windows))


def _kernel_factors(op: Operation, rule: OpShardingRule) -> Factors:
    """Return the factors of the spatial dims of the kernel of a convolution, whose shards compute partial results."""
    if not isinstance(op, window.ConvolutionOp):
        return ()
    spatial = op.dimension_numbers.data.kernel_spatial_dimensions
    return tuple(factor for dim in spatial for factor in rule.operands[1][dim])


def allowed_shard_counts(op: Operation, counts: Iterable[int]) -> dict[FactorIndex, frozenset[int]]:
    """Return the allowed shard counts of each factor that is shardable for some counts only.

    Only an op with a rule attribute has such factors, because the attribute was computed for its present shard counts.
    """
    may_depend_on_count = facts_of(op).depends_on_count and RULE_ATTRIBUTE in op.attributes
    rule = own_rule(op) if may_depend_on_count else None
    if rule is None:
        return {}
    replicated = set(_with_replicated_factors(op, rule).need_replication)
    return {
        factor: frozenset(
            count
            for count in counts
            if can_run_on_shards(op, dim, count) and factor in _factors_on_shards(op, rule, dim, count)
        )
        for dim, factors in enumerate(rule.operands[0])
        for factor in replicated.intersection(factors)
    }


def with_need_replication(rule: OpShardingRule, factors: Factors) -> OpShardingRule:
    """Return the rule with exactly `factors` as need-replication factors, and without permutation factors."""
    need_replication = tuple(sorted(factors))
    is_permuted = bool(rule.permutation)
    if (
        need_replication == rule.need_replication
        and not is_permuted
        and not {*need_replication}.intersection(rule.reduction)
    ):
        return rule  # the common case
    return replace(
        rule,
        need_replication=need_replication,
        permutation=(),
        reduction=tuple(each for each in rule.reduction if each not in need_replication),
    )


def _replicated_rule(op: Operation) -> OpShardingRule:
    shapes = [[shape_or_empty(value) for value in values] for values in (op.operands, op.results)]
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
