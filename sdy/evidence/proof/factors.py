"""The dims that operands and results of an op share, and on which of them it may run on shards.

A *factor* is a dim that operands and results share. An op may run on windows of its *parallel* factors; on shards of
its *reduced* factors it computes contributions to the results, combined by `kind`. Other factors must be whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp, ScatterOp
from sdy.evidence.proof.contributions import IDEMPOTENT
from sdy.evidence.proof.offsets import Offset
from sdy.evidence.proof.walk import shape_of
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The sharding of a factor: the windows of devices in a dim of `size` elements."""

    size: int
    base: Offset
    extent: int

    @property
    def is_whole(self) -> bool:
        """Return whether each device has all elements."""
        return self.base == 0 and self.extent == self.size

    def __str__(self) -> str:
        if self.is_whole:
            return "whole"
        start = self.base if isinstance(self.base, int) else f"{list(self.base[:8])} by device"
        return f"{self.extent} of {self.size} elements from {start}"


@dataclass(frozen=True, slots=True)
class Factors:
    """The factor of each dim of the operands and results of an op."""

    operands: tuple[Dims, ...]
    results: tuple[Dims, ...]
    parallel: frozenset[int]
    attributes: Hashable  # what else determines the op; the same for an op on windows of parallel factors
    reduced: frozenset[int] = frozenset()
    kind: Hashable = ""  # how contributions are combined
    neutral: tuple[int, ...] = ()  # operands that must be neutral if a reduced factor is sharded
    is_symmetric: bool = False  # factors have no meaning but which dims they tie
    linear: frozenset[tuple[int, ...]] = field(default_factory=frozenset[tuple[int, ...]])
    shards: Mapping[int, Placement] = field(default_factory=dict[int, Placement])  # of results alone


def ints(op: Operation, name: str) -> Dims:
    """Return a list of integers of an op; empty if the op does not have it."""
    found = op.properties.get(name)
    if isinstance(found, DenseElementsAttr):
        return found.get_ints()
    return () if found is None else tuple(cast("DenseArrayBase", found).get_values())  # type: ignore[arg-type]


def number(op: Operation, name: str, default: int = 0) -> int:
    """Return an integer of an op, or the default of an optional one that the op does not have."""
    found = op.properties.get(name)
    return default if found is None else cast("IntegerAttr", found).value.data


def attributes_of(op: Operation, *omitted: str) -> Hashable:
    """Return the properties of an op without some of them, for comparison."""
    return tuple(sorted(((k, v) for k, v in op.properties.items() if k not in omitted), key=lambda item: item[0]))


def elementwise(op: Operation) -> Factors:
    """Return the factors of an op on corresponding elements; operands of rank 0 apply to all elements."""
    rank = len(shape_of(op.results[0]))
    dims = tuple(range(rank))
    operands = tuple(dims if len(shape_of(each)) == rank else () for each in op.operands)
    linear = LINEAR.get(op.name.removeprefix("stablehlo."), frozenset())
    results = (dims,) * len(op.results)
    return Factors(operands, results, frozenset(dims), attributes_of(op), is_symmetric=True, linear=linear)


# Operands in which ops are linear, jointly: an op on partial sums in these operands computes partial sums.
LINEAR: dict[str, frozenset[tuple[int, ...]]] = {
    "add": frozenset({(0, 1)}),
    "subtract": frozenset({(0, 1)}),
    "negate": frozenset({(0,)}),
    "multiply": frozenset({(0,), (1,)}),
    "divide": frozenset({(0,)}),
    "select": frozenset({(1, 2)}),
    "convert": frozenset({(0,)}),
    "real": frozenset({(0,)}),
    "imag": frozenset({(0,)}),
    "complex": frozenset({(0, 1)}),
}


def contraction_factors(op: DotGeneralOp | DotOp) -> Factors:
    """Return the factors of a contraction."""
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    batching, contracting = pairs_of_dims(op)
    for factor, (one, other) in enumerate([*batching, *contracting]):
        left[one], right[other] = factor, factor
    count, result = len(left), list(range(len(batching)))
    for operand, factors in ((op.lhs, left), (op.rhs, right)):
        for dim in range(len(shape_of(operand))):
            if dim not in factors:
                factors[dim] = count
                result.append(count)
                count += 1
    operands = tuple(tuple(each[dim] for dim in range(len(each))) for each in (left, right))
    reduced = frozenset(range(len(batching), len(batching) + len(contracting)))
    others = attributes_of(op, "dot_dimension_numbers")
    linear = frozenset({(0,), (1,)})
    parallel = frozenset(result)
    # The factors of the operands, which follow from the attribute, stand for it without the dims of size 1.
    return Factors(operands, (tuple(result),), parallel, others, reduced, "add", (), is_symmetric=True, linear=linear)


def reduce(op: Operation, kind: str, body: Hashable) -> Factors:
    """Return the factors of a reduction of one value and its initial value; of all values of an op without a kind."""
    count = 1 if kind else len(op.operands) // 2
    dims, rank = ints(op, "dimensions"), len(shape_of(op.operands[0]))
    kept = tuple(dim for dim in range(rank) if dim not in dims)
    operands = (*(tuple(range(rank)),) * count, *((),) * count)
    reduced = frozenset(dims) if kind else frozenset[int]()
    linear = frozenset({(0,)}) if kind == "add" else frozenset[tuple[int, ...]]()
    return Factors(
        operands, (kept,) * count, frozenset(kept), body, reduced, kind, (1,), is_symmetric=True, linear=linear
    )


def along(op: Operation, dims: Sequence[int], attributes: Hashable) -> Factors:
    """Return the factors of an op that needs the dims `dims` of all values whole; others are parallel."""
    ranks = [len(shape_of(each)) for each in op.operands]
    return along_dims(ranks, len(shape_of(op.results[0])), len(op.results), dims, attributes)


def along_dims(operands: Sequence[int], rank: int, results: int, dims: Sequence[int], attributes: Hashable) -> Factors:
    """Return the factors of an op on operands of these ranks, with results of one rank, that needs some dims whole."""
    numbers = itertools.count(rank)

    def of_value(rank: int) -> Dims:
        return tuple(next(numbers) if dim in dims else dim for dim in range(rank))

    return Factors(
        tuple(map(of_value, operands)),
        tuple(of_value(rank) for _ in range(results)),
        frozenset(range(rank)) - set(dims),
        attributes,
    )


def pairs_of_dims(op: DotGeneralOp | DotOp) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of batching dims, and those of contracting dims, of the operands of a contraction."""
    if isinstance(op, DotOp):
        return [], [(len(shape_of(op.lhs)) - 1, 0)]
    numbers = op.dot_dimension_numbers.data
    batching = zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True)
    return list(batching), list(
        zip(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions, strict=True)
    )


def gather(op: GatherOp) -> Factors:
    """Return the factors of a gather: dims of indices, batching dims, and dims of which slices are whole."""
    numbers = op.dimension_numbers.data
    operand, indices, result = shape_of(op.operand), shape_of(op.start_indices), shape_of(op.result)
    sizes = ints(op, "slice_sizes")
    batch = [dim for dim in range(len(result)) if dim not in numbers.offset_dims]
    scatter_dims = [dim for dim in range(len(indices)) if dim != numbers.index_vector_dim]
    factor_of_index = dict(zip(scatter_dims, batch, strict=True))
    offsets = [
        dim for dim in range(len(operand)) if dim not in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    ]
    factor_of_operand = {
        dim: position for dim, position in zip(offsets, numbers.offset_dims, strict=True) if sizes[dim] == operand[dim]
    }
    for dim, index_dim in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        factor_of_operand[dim] = factor_of_index[index_dim]
    count = len(result)
    operand_factors = tuple(factor_of_operand.get(dim, count + dim) for dim in range(len(operand)))
    count += len(operand)
    index_factors = tuple(factor_of_index.get(dim, count) for dim in range(len(indices)))
    parallel = frozenset((*batch, *factor_of_operand.values()))
    partial = tuple((dim, size) for dim, size in enumerate(sizes) if dim not in factor_of_operand)
    attributes = (numbers, partial)
    results = (tuple(range(len(result))),)
    linear = frozenset({(0,)})
    return Factors((operand_factors, index_factors), results, parallel, attributes, linear=linear)


def scatter(op: ScatterOp, kind: str, body: Hashable) -> Factors:
    """Return the factors of a scatter: batching dims, and dims without indices of which updates have all elements.

    Updates that are combined may be sharded along the dims of the indices if the input changes nothing, or may be
    combined again.
    """
    count, numbers = len(op.inputs), op.scatter_dimension_numbers.data
    inputs, indices, updates = shape_of(op.inputs[0]), shape_of(op.scatter_indices), shape_of(op.updates[0])
    without = (*numbers.inserted_window_dims, *numbers.input_batching_dims)  # dims that the updates do not have
    windows = [dim for dim in range(len(inputs)) if dim not in without]
    factor_of_update = {
        position: dim
        for dim, position in zip(windows, numbers.update_window_dims, strict=True)
        if updates[position] == inputs[dim] and dim not in numbers.scatter_dims_to_operand_dims
    }
    parallel = set(factor_of_update.values())
    rank = len(inputs)
    index_dims = [dim for dim in range(len(indices)) if dim != numbers.index_vector_dim]
    update_dims = [dim for dim in range(len(updates)) if dim not in numbers.update_window_dims]
    factor_of_index: dict[int, int] = {}
    batching = dict(zip(numbers.scatter_indices_batching_dims, numbers.input_batching_dims, strict=True))
    for index_dim, update_dim in zip(index_dims, update_dims, strict=True):
        factor = batching.get(index_dim, rank + index_dim)
        factor_of_index[index_dim] = factor_of_update[update_dim] = factor
    parallel |= set(batching.values())
    is_combined = count == 1 and (kind == "add" or kind in IDEMPOTENT)
    reduced = {rank + dim for dim in index_dims if dim not in batching} if is_combined else set[int]()
    next_factor = rank + len(indices)
    input_factors = tuple(range(rank))
    index_factors = tuple(factor_of_index.get(dim, next_factor) for dim in range(len(indices)))
    update_factors = tuple(factor_of_update.get(dim, next_factor + 1 + dim) for dim in range(len(updates)))
    operands = (*(input_factors,) * count, index_factors, *(update_factors,) * count)
    attributes = (numbers, op.unique_indices not in (None, FALSE), body)
    linear = frozenset({(0, 2)}) if kind == "add" and count == 1 else frozenset[tuple[int, ...]]()
    return Factors(
        operands,
        (input_factors,) * count,
        frozenset(parallel),
        attributes,
        frozenset(reduced),
        kind,
        (0,),
        linear=linear,
    )


def slice_factors(whole: Sequence[int], part: Sequence[int]) -> tuple[Factors, list[int]]:
    """Return the factors of a slice at starts that are operands, and the dims that it does not cover, which have them.

    Dims that it covers are parallel, whatever their start.
    """
    rank, sliced = len(whole), [dim for dim, (one, other) in enumerate(zip(whole, part, strict=True)) if one != other]
    attributes = tuple((dim, part[dim]) for dim in sliced)
    kept = tuple(rank + dim if dim in sliced else dim for dim in range(rank))
    operands = (tuple(range(rank)), *((),) * len(sliced))
    parallel = frozenset(range(rank)) - frozenset(sliced)
    return Factors(operands, (kept,), parallel, attributes, linear=frozenset({(0,)})), sliced


def batched(op: Operation, batch: Sequence[int], attributes: Hashable) -> Factors:
    """Return the factors of an op that needs all dims whole but those of a batch, which all values but scalars have."""
    count = max(batch, default=-1) + 1
    listed: list[Dims] = []
    for value in (*op.operands, *op.results):
        found: list[int] = []
        for dim in range(len(shape_of(value))):
            found.append(dim if dim in batch else count)
            count += dim not in batch
        listed.append(tuple(found))
    split = len(op.operands)
    return Factors(tuple(listed[:split]), tuple(listed[split:]), frozenset(batch), attributes)


def by_rule(rule: OpShardingRule, attributes: Hashable) -> Factors:
    """Return the factors of an op that computes as its sharding rule says. Dims with several factors must be whole."""
    numbers = itertools.count(len(rule.factor_sizes))
    tensors = [tuple(dim[0] if len(dim) == 1 else next(numbers) for dim in tensor) for tensor in rule.tensors]
    split = {factor for tensor in rule.tensors for dim in tensor if len(dim) != 1 for factor in dim}
    of_kind = {kind: frozenset[int]() for kind in FactorKind}
    for factor in map(FactorIndex, range(len(rule.factor_sizes))):
        if factor not in split:
            of_kind[rule.kind(factor)] |= {factor}
    count = len(rule.operands)
    parallel, reduced = of_kind[FactorKind.PASS_THROUGH], of_kind[FactorKind.REDUCTION]
    return Factors(tuple(tensors[:count]), tuple(tensors[count:]), parallel, attributes, reduced, "add")


def batch_of(op: Operation) -> Sequence[int]:
    """Return the dims of a custom call that are a batch, as JAX writes in its attributes; they may be none."""
    frontend, config = (op.attributes.get(f"mhlo.{name}") for name in ("frontend_attributes", "backend_config"))
    if isinstance(frontend, DictionaryAttr) and isinstance(found := frontend.data.get("num_batch_dims"), StringAttr):
        return range(int(found.data)) if found.data.isdecimal() else ()
    reduced = config.data.get("reduction_dim") if isinstance(config, DictionaryAttr) else None
    if str(op.properties["call_target_name"]) in APPROXIMATE_TOP_K and isinstance(reduced, IntegerAttr):
        rank = len(shape_of(op.operands[0]))
        return [dim for dim in range(rank) if dim != reduced.value.data % rank]
    return ()


APPROXIMATE_TOP_K = ('"ApproxTopK"', '"PartialReduce"')
