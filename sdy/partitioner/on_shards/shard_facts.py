"""Facts about ops on shards that their sharding rules do not contain: one record per op.

Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.data_flow import DATA_FLOW_OPS
from sdy.dialects.sdy import collectives as sdy_collectives
from sdy.dialects.sdy import ops as sdy_ops
from sdy.dialects.stablehlo import control, gather_scatter, linalg, random, reduction, shape, slicing, window
from sdy.dialects.stablehlo.calls import CustomCallOp, backend_config_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds
from sdy.partitioner.on_shards.shard_windows import dims_covered_from_zero, window_dim_of_update
from sdy.rules.tensors import shape_or_empty

Factors = Iterable[FactorIndex]
FactorsOf = Callable[[Operation, OpShardingRule], Factors]


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """The properties of an op on shards that its sharding rule does not state."""

    has_rule: bool = True  # False: it computes nothing, or only passes values to regions, functions or results
    repeats: bool = False  # each device can compute new dims for its shard: by repeating elements, or random bits
    depends_on_count: bool = False  # some factors are shardable for some shard counts only
    replicated: FactorsOf | None = None  # further factors that need replication
    shardable: FactorsOf | None = None  # factors that need no replication although the sharding rule marks them


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
        if not _is_one_plain_window(op, index, shape_or_empty(op.lhs)[dim], shape_or_empty(op.rhs)[kernel_dim]):
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
    sizes, results = shape_or_empty(op.operand), shape_or_empty(op.result)
    amounts = zip(ints_of(op.edge_padding_low), ints_of(op.interior_padding), strict=True)
    for dim, (low, interior) in enumerate(amounts):
        if (low and sizes[dim] != results[dim]) or (interior and sizes[dim] > 1):
            yield from _factors_of_dim(rule, 0, dim)


def _shifted_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield padded dims that keep their size: only elements at the edges of shards move."""
    assert isinstance(op, slicing.PadOp)
    sizes = zip(shape_or_empty(op.operand), shape_or_empty(op.result), strict=True)
    for dim, (size, padded) in enumerate(sizes):
        if size == padded:
            yield from _factors_of_dim(rule, 0, dim)


def unit_update_factors(op: gather_scatter.ScatterOp, rule: OpShardingRule) -> Factors:
    """Yield dims of the input along which updates have one element."""
    for dim in range(len(shape_or_empty(op.inputs[0]))):
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and shape_or_empty(op.updates[0])[update_dim] == 1:
            yield from _factors_of_dim(rule, 0, dim)


def _indexed_partial_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield indexed dims of the input along which updates are smaller than it: the index determines their shards."""
    assert isinstance(op, gather_scatter.ScatterOp)
    for dim in op.scatter_dimension_numbers.data.scatter_dims_to_operand_dims:
        update_dim = window_dim_of_update(op, dim)
        if update_dim is not None and shape_or_empty(op.updates[0])[update_dim] < shape_or_empty(op.inputs[0])[dim]:
            yield from _factors_of_dim(rule, 0, dim)


def _unindexed_or_covered_dims(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield inserted dims that no index addresses, and indexed dims that an update covers unless it starts at 0."""
    assert isinstance(op, gather_scatter.ScatterOp)
    numbers, from_zero = op.scatter_dimension_numbers.data, dims_covered_from_zero(op)
    for dim, size in enumerate(shape_or_empty(op.inputs[0])):
        update_dim = window_dim_of_update(op, dim)
        is_indexed = dim in numbers.scatter_dims_to_operand_dims
        is_unindexed = dim in numbers.inserted_window_dims and not is_indexed
        is_covered = is_indexed and update_dim is not None and shape_or_empty(op.updates[0])[update_dim] == size
        if is_unindexed or (is_covered and dim not in from_zero):
            yield from _factors_of_dim(rule, 0, dim)


# Custom calls on full matrices, the last two dims of the first operand. Shardy's rules let some of these dims pass.
ON_MATRICES = (
    *("Cholesky", "CompactWyHelper", "Eigh", "InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular"),
)


def _full_dims_of_call(op: Operation, rule: OpShardingRule) -> Factors:
    """Yield dims of the first operand that a custom call reads in full, though the sharding rule lets them pass."""
    assert isinstance(op, CustomCallOp)
    target, dims = op.call_target_name.data, rule.operands[0] if rule.operands else ()
    if target in ON_MATRICES:
        dims = dims[-2:]
    elif target == "mhlo.topk":
        dims = dims[-1:]
    elif target in ("ApproxTopK", "PartialReduce"):
        reduced = backend_config_of(op).get("reduction_dim")
        dims = dims[reduced.value.data :][:1] if isinstance(reduced, IntegerAttr) else dims
    elif not target.startswith("_SPMDInternalOp_"):
        return
    for factors in dims:
        yield from factors


WITHOUT_RULE = ShardFacts(has_rule=False)
REPEATING = ShardFacts(repeats=True)
COUNT_DEPENDENT = ShardFacts(depends_on_count=True)
# What the partitioner can do with ops on shards; it depends on the ways that it knows.
FACTS: dict[type[Operation], ShardFacts] = {
    **dict.fromkeys((ModuleOp, FuncOp, CallOp, *sdy_ops.OPS, *sdy_collectives.OPS, *DATA_FLOW_OPS), WITHOUT_RULE),
    **dict.fromkeys((control.IfOp, shape.ConstantOp, shape.IotaOp, shape.GetDimensionSizeOp), WITHOUT_RULE),
    **dict.fromkeys((shape.BroadcastInDimOp, shape.BroadcastOp, random.RngBitGeneratorOp), REPEATING),
    **dict.fromkeys((shape.ReverseOp, slicing.ConcatenateOp, slicing.SliceOp, TopKOp), COUNT_DEPENDENT),
    slicing.PadOp: ShardFacts(depends_on_count=True, replicated=_padded_dims, shardable=_shifted_dims),
    reduction.ReduceOp: ShardFacts(depends_on_count=True, replicated=_without_all_reduce),
    window.ConvolutionOp: ShardFacts(depends_on_count=True, replicated=_spatial_dims),
    window.ReduceWindowOp: ShardFacts(depends_on_count=True, replicated=_base_dilated_dims),
    linalg.SortOp: ShardFacts(replicated=_sorted_dim),
    CustomCallOp: ShardFacts(replicated=_full_dims_of_call),
    gather_scatter.ScatterOp: ShardFacts(replicated=_unindexed_or_covered_dims, shardable=_indexed_partial_dims),
}
_DEFAULT = ShardFacts()


def facts_of(op: Operation) -> ShardFacts:
    """Return the facts about `op`."""
    return FACTS.get(type(op), _DEFAULT)
