"""Which tensors of an op are resharded so that all agree, factor by factor.

Source: docs/spec/05, 1.12 to 1.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sdy.model.axis import AxisList
from sdy.model.axis_list import common_prefix, set_difference, sort_and_merge
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh_table import CommonMesh, MeshTable, resolve_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.op_agreement.common_axes import FactorAxes, common_axes
from sdy.partitioner.op_agreement.dot_result import cheaper_result_axes
from sdy.partitioner.op_agreement.reshape_axes import has_overflow, reshape_axes
from sdy.propagation.projection import (
    FactorSharding,
    Projection,
    TensorProjection,
    project,
    project_tensor,
    to_sharding,
)


@dataclass(frozen=True, slots=True)
class OpTensors:
    """An op's operands, then results: how they are sharded, and how many elements each has."""

    rule: OpShardingRule
    shardings: tuple[TensorSharding | None, ...]
    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What to do about an op.

    `reshards` has one entry a tensor, operands then results: the sharding that the op needs it in, None where it
    stays as it is. `reduction_axes` are those along which each device has partial results.
    """

    reshards: tuple[TensorSharding | None, ...]
    reduction_axes: AxisList = ()


def resolve_conflicts(
    tensors: OpTensors, on: CommonMesh, meshes: MeshTable, *, is_reshape: bool, is_strict: bool = False
) -> Resolution:
    """The resolution after which all tensors agree on every factor.

    The reference leaves tensors at odds where one cannot be cut along a factor without one that is major to it in the
    same dim; if `is_strict`, no tensor is cut along it then.
    """
    rule = tensors.rule
    projection = project(rule, tensors.shardings, on.mesh, missing_is_closed=True)
    if is_reshape and has_overflow(projection) and not rule.need_replication:
        axes = reshape_axes(rule, projection, on.mesh)
        if is_strict:
            axes = _expressible(tensors, axes, on)
        moves = _moves_of_reshape(tensors, projection, axes, on)
    else:
        axes = common_axes(rule, projection, tensors.elements, on.mesh)
        if is_strict:
            axes = _expressible(tensors, axes, on)
        moves = [
            _has_other_axes(tensor, axes) or has_overflow(Projection((tensor,), ())) for tensor in projection.tensors
        ]
    reshards = tuple(
        _needed(tensors, place, tensor, axes, on) if is_moved or _has_other_devices(sharding, on, meshes) else None
        for place, (tensor, sharding, is_moved) in enumerate(
            zip(projection.tensors, tensors.shardings, moves, strict=True)
        )
    )
    reduced = tuple(axis for factor in rule.reduction for axis in axes[factor])
    return Resolution(reshards, _to_reduce(reduced, tensors, on))


def _expressible(tensors: OpTensors, axes: FactorAxes, on: CommonMesh) -> FactorAxes:
    """The axes of each factor as far as every tensor that has it can be cut so."""
    rule, sizes = tensors.rule, tensors.rule.factor_sizes
    while True:
        common = list(axes)
        for mapping in rule.tensors:
            factors = {factor: FactorSharding(axes[factor]) for dim in mapping for factor in dim}
            sharding = to_sharding(TensorProjection(factors), mapping, sizes, None, on.reference, on.mesh)
            own = project_tensor(sharding, mapping, sizes, on.mesh)
            for factor in factors:
                common[factor] = common_prefix(common[factor], own.axes(factor) or ())
        if common == axes:
            return axes
        axes = common


@lru_cache(maxsize=65536)
def resolve_dot(tensors: OpTensors, on: CommonMesh) -> Resolution | None:
    """The light resolution of a product: change the result where that is cheaper than changing an operand."""
    projection = project(tensors.rule, tensors.shardings, on.mesh, missing_is_closed=True)
    found = cheaper_result_axes(tensors.rule, projection, tensors.elements)
    if found is None:
        return None
    factor, axes = found
    result = projection.results[0]
    entry = replace(result.factors[factor], axes=axes, overflow=())
    needed = TensorProjection({**result.factors, factor: entry}, result.replicated, result.unreduced)
    place = len(tensors.shardings) - 1
    sharding = to_sharding(
        needed,
        tensors.rule.tensors[place],
        tensors.rule.factor_sizes,
        tensors.shardings[place],
        on.reference,
        on.mesh,
    )
    return Resolution((*(None,) * place, sharding))


def agreed_reduction_axes(tensors: OpTensors, on: CommonMesh) -> AxisList:
    """The axes to reduce along where the tensors are left as they are: only those of an unreduced result count."""
    result = _first_result(tensors)
    if result is None or not result.unreduced:
        return ()
    projection = project(tensors.rule, tensors.shardings, on.mesh, missing_is_closed=True)
    reduced: AxisList = ()
    for factor in tensors.rule.reduction:
        lists = {axes for tensor in projection.tensors if (axes := tensor.axes(factor)) is not None}
        reduced += lists.pop() if len(lists) == 1 else ()
    return _to_reduce(reduced, tensors, on)


def _to_reduce(axes: AxisList, tensors: OpTensors, on: CommonMesh) -> AxisList:
    result = _first_result(tensors)
    kept = () if result is None else result.unreduced
    return sort_and_merge(set_difference(axes, kept, on.mesh), on.mesh)


def _first_result(tensors: OpTensors) -> TensorSharding | None:
    return tensors.shardings[len(tensors.rule.operands)]


def _has_other_axes(tensor: TensorProjection, axes: FactorAxes) -> bool:
    return any(entry.axes != axes[factor] for factor, entry in tensor.factors.items())


def _has_other_devices(sharding: TensorSharding | None, on: CommonMesh, meshes: MeshTable) -> bool:
    if sharding is None or sharding.is_fully_replicated:
        return False
    mesh = resolve_mesh(sharding.mesh, meshes)
    return mesh is not None and mesh.device_ids != on.mesh.device_ids


def _needed(
    tensors: OpTensors, place: int, tensor: TensorProjection, axes: FactorAxes, on: CommonMesh
) -> TensorSharding:
    factors = {factor: replace(entry, axes=axes[factor], overflow=()) for factor, entry in tensor.factors.items()}
    needed = TensorProjection(factors, tensor.replicated, tensor.unreduced)
    rule = tensors.rule
    return to_sharding(needed, rule.tensors[place], rule.factor_sizes, tensors.shardings[place], on.reference, on.mesh)


def _moves_of_reshape(tensors: OpTensors, projection: Projection, axes: FactorAxes, on: CommonMesh) -> Sequence[bool]:
    """For a reshape dealt out anew, whether a side's sharding changes at all."""
    return [
        not is_equivalent(sharding, _needed(tensors, place, tensor, axes, on))
        for place, (tensor, sharding) in enumerate(zip(projection.tensors, tensors.shardings, strict=True))
    ]
