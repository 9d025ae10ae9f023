"""Projection of shardings to the factors of a rule, and back.

A rule maps each dim of a tensor to factors, major first. Projecting splits the axes of a dim over its factors, in
order. The axes that do not fit a factor other than the minor-most one are its *overflow*; the factors after it then
cannot be sharded.

    mesh   <["x"=8]>
    rule   ([ij])->([i, j]) {i=4, j=6}
    dim    {"x"}
    i      "x":(1)4     (not minor-most: takes gcd(4, 8))
    j      "x":(4)2     (minor-most: takes the rest)

Source: docs/spec/02, 2.6 to 2.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd, prod

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import add_or_merge, extended, is_strict_list_prefix, sharded_size
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.rule import DimMapping, FactorIndex, OpShardingRule, TensorMapping
from sdy.model.sharding import DimSharding, TensorSharding


@dataclass(frozen=True, slots=True)
class FactorSharding:
    """The sharding of one tensor along one factor. `overflow` has the axes that did not fit the factor."""

    axes: AxisList = ()
    is_closed: bool = False
    is_minor_most: bool = True
    overflow: AxisList = ()


@dataclass(frozen=True, slots=True)
class TensorProjection:
    """The factor shardings of one tensor. A factor after an overflow has no entry, like one that no dim maps to."""

    factors: Mapping[FactorIndex, FactorSharding]
    replicated: AxisList = ()
    unreduced: AxisList = ()

    def axes(self, factor: FactorIndex) -> AxisList | None:
        """Return the axes along `factor`; None if it has no entry."""
        entry = self.factors.get(factor)
        return None if entry is None else entry.axes

    def has_axes(self, factor: FactorIndex, axes: AxisList) -> bool:
        """Return whether the tensor has `axes`, or these and more, along `factor`."""
        own = self.axes(factor)
        return own is not None and (own == axes or is_strict_list_prefix(axes, own))

    def expanded(self, factor: FactorIndex, axes: AxisList) -> TensorProjection:
        """Return the projection with `axes` along `factor` if they extend the current ones; otherwise the projection
        itself.
        """
        entry = self.factors.get(factor)
        if entry is None or not is_strict_list_prefix(entry.axes, axes):
            return self
        return replace(self, factors={**self.factors, factor: replace(entry, axes=axes)})


@dataclass(frozen=True, slots=True)
class Projection:
    """The projections of an op's operands and results to the factors of its rule."""

    operands: tuple[TensorProjection, ...]
    results: tuple[TensorProjection, ...]

    @property
    def tensors(self) -> tuple[TensorProjection, ...]:
        """The operands, followed by the results."""
        return self.operands + self.results

    def with_tensors(self, tensors: Iterable[TensorProjection]) -> Projection:
        """Return the projection of the same op with other tensors, operands then results."""
        replaced = tuple(tensors)
        return Projection(replaced[: len(self.operands)], replaced[len(self.operands) :])


def project(
    rule: OpShardingRule, shardings: tuple[TensorSharding | None, ...], mesh: Mesh, missing_is_closed: bool = False
) -> Projection:
    """Project the shardings of an op's operands and results, in this order, to the factors of `rule`.

    A missing sharding counts as unsharded and open, or closed if `missing_is_closed`.
    """
    tensors = tuple(
        project_tensor(sharding, mapping, rule.factor_sizes, mesh, missing_is_closed)
        for sharding, mapping in zip(shardings, rule.tensors, strict=True)
    )
    return Projection(tensors[: len(rule.operands)], tensors[len(rule.operands) :])


def project_tensor(
    sharding: TensorSharding | None,
    mapping: TensorMapping,
    factor_sizes: tuple[int, ...],
    mesh: Mesh,
    missing_is_closed: bool = False,
) -> TensorProjection:
    """Project the sharding of one tensor to the factors that its dims map to."""
    factors: dict[FactorIndex, FactorSharding] = {}
    unsharded = DimSharding(is_closed=missing_is_closed)
    for dim, dim_factors in enumerate(mapping):
        _project_dim(unsharded if sharding is None else sharding.dims[dim], dim_factors, factor_sizes, mesh, factors)
    if sharding is None:
        return TensorProjection(factors)
    return TensorProjection(factors, sharding.replicated, sharding.unreduced)


def _project_dim(
    dim: DimSharding,
    dim_factors: DimMapping,
    factor_sizes: tuple[int, ...],
    mesh: Mesh,
    factors: dict[FactorIndex, FactorSharding],
) -> None:
    remaining = list(dim.axes)
    last = len(dim_factors) - 1
    for position, factor in enumerate(dim_factors):
        if position == last:
            factors[factor] = FactorSharding(extended((), remaining, mesh), dim.is_closed)
            return
        axes, room = _take(remaining, factor_sizes[factor], mesh)
        if room == 1 or not remaining:
            factors[factor] = FactorSharding(axes, dim.is_closed, is_minor_most=False)
            continue
        overflow = extended((), remaining, mesh)
        factors[factor] = FactorSharding(axes, dim.is_closed, is_minor_most=False, overflow=overflow)
        # The next factor cannot be sharded, so it is closed; the factors after it get no entry.
        factors[dim_factors[position + 1]] = FactorSharding((), is_closed=True, is_minor_most=position + 1 == last)
        return


def _take(remaining: list[AxisRef], room: int, mesh: Mesh) -> tuple[AxisList, int]:
    """Remove the axes that fit a factor of size `room` from the front of `remaining`; return them and the room left."""
    axes: list[AxisRef] = []
    while remaining:
        size = mesh.size_of(remaining[0])
        common = gcd(room, size)
        if common == 1 and size != 1:
            break
        room //= common
        if common == size:
            axes.append(remaining.pop(0))
        else:
            front, remaining[0] = split_at(remaining[0], common, mesh)
            axes.append(front)
    return tuple(axes), room


def to_sharding(
    projection: TensorProjection,
    mapping: TensorMapping,
    factor_sizes: tuple[int, ...],
    old: TensorSharding | None,
    mesh_name: str | Mesh,
    mesh: Mesh,
) -> TensorSharding:
    """Return the sharding that a projection stands for. Axes after a factor that is not full are dropped.

    Priorities are dropped; the replicated and unreduced axes of `old` are kept.
    """
    dims = tuple(_to_dim(projection, dim_factors, factor_sizes, mesh) for dim_factors in mapping)
    if old is None:
        return TensorSharding(mesh_name, dims)
    return replace(old, mesh=mesh_name, dims=dims)


def _to_dim(
    projection: TensorProjection, dim_factors: DimMapping, factor_sizes: tuple[int, ...], mesh: Mesh
) -> DimSharding:
    axes: AxisList = ()
    is_closed = False
    for factor in dim_factors:
        entry = projection.factors.get(factor)
        if entry is None:
            break
        is_closed = is_closed or entry.is_closed
        axes = _with_factor_axes(axes, entry.axes, mesh)
        if entry.overflow:
            axes = _with_factor_axes(axes, entry.overflow, mesh)
            break
        # Axes on a later factor would need a strided layout.
        if sharded_size(entry.axes, mesh) < factor_sizes[factor]:
            break
    return DimSharding(axes, is_closed)


def _with_factor_axes(axes: AxisList, more: AxisList, mesh: Mesh) -> AxisList:
    return (*add_or_merge(axes, more[0], mesh), *more[1:]) if more else axes


def tensor_size(projection: TensorProjection, factor_sizes: tuple[int, ...]) -> int:
    """Return the product of the sizes of the factors that have an entry."""
    return prod(factor_sizes[factor] for factor in projection.factors)
