"""The rule by which each device can run an op on its shards alone.

It is the op's sharding rule, but what elements move along, or what no all-reduce completes, must be whole; and ops
through which nothing propagates have one, so that every op can be run: in the worst case on whole tensors.
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

WHOLE = FactorKind.NEED_REPLICATION
Factors = Iterable[FactorIndex]

# Ops that work on no tensor of their own, or hand values from one place to another.
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

# Ops of which it depends on the number of shards whether they can be run on them.
MOVING = frozenset[type[Operation]](
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

# Ops that make new dims by repeating, or by drawing, what each device can do for its part.
REPEATING = frozenset[type[Operation]]((shape.BroadcastInDimOp, shape.BroadcastOp, random.RngBitGeneratorOp))

# Rules of ops that the reference knows none for.
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
    """`([i, j], [j], [j]) -> ([i, j], [j], [j])`: j are the features, along all else means are taken."""
    ranks = ([len(_shape(value)) for value in values] for values in (op.operands, op.results))
    builder = RuleBuilder(*ranks)
    for dim, size in enumerate(_shape(op.operand)):
        is_feature = dim == op.feature_index.value.data
        places = [
            tuple(dim if len(_shape(value)) > 1 else 0 if is_feature else None for value in values)
            for values in (op.operands, op.results)
        ]
        builder.factor(size, places[0], places[1], FactorKind.PASS_THROUGH if is_feature else WHOLE)
    return builder.build()


@FURTHER_RULES.of(TopKOp)
def top_k(op: TopKOp) -> OpShardingRule:
    """`([i, j]) -> ([i, k], [i, k])`: the k are chosen from all of the last dim."""
    *batch, size = _shape(op.operand)
    last = len(batch)
    builder = RuleBuilder((last + 1,), (last + 1, last + 1))
    for dim, rows in enumerate(batch):
        builder.spread(dim, rows)
    builder.factor(size, operands=(last,), results=(None, None), kind=WHOLE)
    builder.factor(op.k.value.data, operands=(None,), results=(last, last), kind=WHOLE)
    return builder.build()


def sharded_op_key(op: Operation, shardings: Iterable[TensorSharding | None]) -> Hashable:
    """The same for ops that run on shards alike, as long as they live as they are; `shardings` are all of the op's."""
    signature = None if op.regions else rule_key(op)
    return op if signature is None else (signature, *shardings)


def known_rule(op: Operation) -> OpShardingRule | None:
    """The rule of an op that can be run on shards, whole where it must be; None of one that nothing is known of."""
    rule = sharding_rule(op)
    if rule is None or rule.is_custom:
        # What a user says of how shardings propagate does not change what an op does; of calls nobody else knows.
        rule = RULES.get(op) or FURTHER_RULES.get(op) or rule
    return None if rule is None else _with_movements_whole(op, rule)


def _with_movements_whole(op: Operation, rule: OpShardingRule) -> OpShardingRule:
    further, free = REPLICATED_FACTORS.get(type(op)), FREE_FACTORS.get(type(op))
    must_be_whole = {
        *(rule.need_replication if free is None else set(rule.need_replication) - {*free(op, rule)}),
        *rule.permutation,
        *_factors_of_one_side(rule, type(op) in REPEATING),
        *(() if further is None else further(op, rule)),
    }
    return with_need_replication(rule, must_be_whole)


def shard_rule(op: Operation) -> OpShardingRule | None:
    """The rule of an op that can be run on shards; None of one that works on no tensor.

    An op that nothing is known of must have whole tensors.
    """
    is_exempt = type(op) in WITHOUT_RULE or isinstance(op, UnregisteredOp) or op.has_trait(IsTerminator)
    return None if is_exempt else known_rule(op) or _whole_rule(op)


def can_run_on_shards(op: Operation, dim: int, count: int) -> bool:
    """Whether an op that moves elements along `dim` of its first operand can be run on `count` shards of it.

    None leaves its shard, or all that is needed is at the edges of neighbours, or what the shards give can be put
    together.
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
    """The rule of an op whose first operand has `counts` shards along each dim: these dims may be cut if they can be.

    None where nothing is known of the op.
    """
    rule = known_rule(op)
    if rule is None:
        return None
    cut = {
        factor
        for dim, (count, factors) in enumerate(zip(counts, rule.operands[0], strict=True))
        if count > 1 and can_run_on_shards(op, dim, count)
        for factor in factors
    }
    return with_need_replication(rule, {*rule.need_replication} - cut)


def allowed_shard_counts(op: Operation, counts: Iterable[int]) -> dict[FactorIndex, frozenset[int]]:
    """Of the factors that are free only because of how the dims of an op are cut, the counts of shards that allow it.

    That they are free is said by the rule that the op carries; elsewhere there are none.
    """
    is_concerned = type(op) in MOVING and RULE_ATTRIBUTE in op.attributes
    rule = RULES.get(op) or FURTHER_RULES.get(op) if is_concerned else None
    if rule is None:
        return {}
    moving = set(_with_movements_whole(op, rule).need_replication)
    return {
        factor: frozenset(count for count in counts if can_run_on_shards(op, dim, count))
        for dim, factors in enumerate(rule.operands[0])
        for factor in moving.intersection(factors)
    }


def with_need_replication(rule: OpShardingRule, factors: Factors) -> OpShardingRule:
    """The rule with the given factors along which tensors must be whole, and no others."""
    whole = tuple(sorted(factors))
    if whole == rule.need_replication and not {*whole}.intersection((*rule.permutation, *rule.reduction)):
        return rule  # as it mostly is
    return replace(
        rule,
        need_replication=whole,
        permutation=tuple(each for each in rule.permutation if each not in whole),
        reduction=tuple(each for each in rule.reduction if each not in whole),
    )


def _whole_rule(op: Operation) -> OpShardingRule:
    shapes = [[_shape(value) for value in values] for values in (op.operands, op.results)]
    builder = RuleBuilder(*([len(each) for each in side] for side in shapes))
    for side, tensors in enumerate(shapes):
        for place, sizes in enumerate(tensors):
            for dim, size in enumerate(sizes):
                places: list[list[int | None]] = [[None] * len(each) for each in shapes]
                places[side][place] = dim
                builder.factor(size, places[0], places[1], WHOLE)
    return builder.build()


@lru_cache(maxsize=4096)
def _factors_of_one_side(rule: OpShardingRule, repeats: bool) -> tuple[FactorIndex, ...]:
    """What passes through, but from no operand, or into no result: each device would see a part of the work only.

    Of an op that repeats its operand it is no harm that a factor is only in the result.
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


# Factors that must be whole beyond what the rule says


def _of_dim(rule: OpShardingRule, operand: int, dim: int) -> Factors:
    return rule.operands[operand][dim]


def _without_all_reduce(op: Operation, rule: OpShardingRule) -> Factors:
    """What a body reduces that no all-reduce combines by."""
    return rule.reduction if reduction_kinds(op) is None else ()


def _spatial_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Spatial dims: every window needs neighbours. One window over all of a dim is a sum over it."""
    assert isinstance(op, window.ConvolutionOp)
    numbers = op.dimension_numbers.data
    spatial = (
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
    )
    for place, (dim, kernel_dim, result_dim) in enumerate(zip(*spatial, strict=True)):
        yield from rule.results[0][result_dim]
        if not _is_one_plain_window(op, place, _shape(op.lhs)[dim], _shape(op.rhs)[kernel_dim]):
            yield from _of_dim(rule, 0, dim)
            yield from _of_dim(rule, 1, kernel_dim)


def _is_one_plain_window(op: window.ConvolutionOp, place: int, size: int, kernel_size: int) -> bool:
    padding = (0, 0) if op.padding is None else op.padding.get_ints()[2 * place : 2 * place + 2]
    steps = [ints_of(each)[place] for each in (op.lhs_dilation, op.rhs_dilation) if each is not None]
    is_reversed = op.window_reversal is not None and bool(ints_of(op.window_reversal)[place])
    return size == kernel_size and not any(padding) and set(steps) <= {1} and not is_reversed


def _stretched_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Dims with gaps between the elements of the operand, of which the rule does not know."""
    assert isinstance(op, window.ReduceWindowOp)
    for dim, dilation in enumerate(() if op.base_dilations is None else ints_of(op.base_dilations)):
        if dilation > 1:
            yield from _of_dim(rule, 0, dim)


def _sorted_dim(op: Operation, rule: OpShardingRule) -> Factors:
    """The dim that is sorted, which the rule does not find where it is counted from the end."""
    assert isinstance(op, linalg.SortOp)
    dim = op.dimension.value.data
    return _of_dim(rule, 0, dim % len(rule.operands[0]))


def _padded_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Dims whose elements move, unless their size stays, and no gaps come between them: shards exchange edges then."""
    assert isinstance(op, slicing.PadOp)
    sizes, results = _shape(op.operand), _shape(op.result)
    amounts = zip(ints_of(op.edge_padding_low), ints_of(op.interior_padding), strict=True)
    for dim, (low, interior) in enumerate(amounts):
        if (low and sizes[dim] != results[dim]) or (interior and sizes[dim] > 1):
            yield from _of_dim(rule, 0, dim)


def single_index_factors(op: gather_scatter.ScatterOp, rule: OpShardingRule) -> Factors:
    """Dims of the input along which an update is one place."""
    for dim in range(len(_shape(op.inputs[0]))):
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and _shape(op.updates[0])[update_dim] == 1:
            yield from _of_dim(rule, 0, dim)


def _indexed_places(op: Operation, rule: OpShardingRule) -> Factors:
    """Dims of the input along which the index tells in which shards a whole update falls."""
    assert isinstance(op, gather_scatter.ScatterOp)
    for dim in op.scatter_dimension_numbers.data.scatter_dims_to_operand_dims:
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and _shape(op.updates[0])[update_dim] < _shape(op.inputs[0])[dim]:
            yield from _of_dim(rule, 0, dim)


def _places_of_scatter(op: Operation, rule: OpShardingRule) -> Factors:
    """Dims of the input that an update covers at a place that no index names, or all of, unless moved by an index."""
    assert isinstance(op, gather_scatter.ScatterOp)
    numbers = op.scatter_dimension_numbers.data
    for dim, size in enumerate(_shape(op.inputs[0])):
        update_dim = window_dim_of_update(op, dim)
        is_indexed = dim in numbers.scatter_dims_to_operand_dims
        is_unnamed = dim in numbers.inserted_window_dims and not is_indexed
        is_as_long = is_indexed and update_dim is not None and _shape(op.updates[0])[update_dim] == size
        if is_unnamed or is_as_long:
            yield from _of_dim(rule, 0, dim)


REPLICATED_FACTORS: dict[type[Operation], Callable[[Operation, OpShardingRule], Factors]] = {
    window.ConvolutionOp: _spatial_dims,
    reduction.ReduceOp: _without_all_reduce,
    window.ReduceWindowOp: _stretched_dims,
    linalg.SortOp: _sorted_dim,
    slicing.PadOp: _padded_dims,
    gather_scatter.ScatterOp: _places_of_scatter,
}
# Factors that need not be whole, though the rule says so.
FREE_FACTORS: dict[type[Operation], Callable[[Operation, OpShardingRule], Factors]] = {
    gather_scatter.ScatterOp: _indexed_places,
}
