"""Choice of the tensors of an op to reshard so that all have equal axes along each factor.

Source: docs/spec/05, 1.12 to 1.17.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sdy.model.axis import AxisList
from sdy.model.axis_list import common_prefix, lists_overlap, set_difference, sort_and_merge
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, MeshTable, common_mesh, resolve_mesh
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.op_agreement.common_axes import FactorAxes, common_axes
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
    """The shardings and element counts of the operands, then of the results of an op, and the op's rule."""

    rule: OpShardingRule
    shardings: tuple[TensorSharding | None, ...]
    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The changes that an op requires.

    `reshards` has one entry per operand, then per result: its required sharding, None if it is not resharded.
    `reduction_axes` are the axes along which devices have partial results.
    """

    reshards: tuple[TensorSharding | None, ...]
    reduction_axes: AxisList = ()


def resolve_conflicts(
    tensors: OpTensors, common: CommonMesh, meshes: MeshTable, *, is_reshape: bool, is_strict: bool = False
) -> Resolution:
    """Return the resolution after which all tensors agree on every factor.

    Shardy leaves a disagreement if a tensor cannot be sharded along a factor without a more major factor of the same
    dim; if `is_strict`, no tensor is sharded along that factor.
    """
    rule = tensors.rule
    projection = project(rule, tensors.shardings, common.mesh, missing_is_closed=True)
    if is_reshape and has_overflow(projection) and not rule.need_replication:
        axes = reshape_axes(rule, projection, common.mesh)
        if is_strict:
            axes = _expressible(tensors, axes, common)
        is_resharded = _reshaped_sides(tensors, projection, axes, common)
    else:
        axes = common_axes(rule, projection, tensors.elements, common.mesh)
        if is_strict:
            axes = _expressible(tensors, axes, common)
        is_resharded = [
            _has_other_axes(tensor, axes) or has_overflow(Projection((tensor,), ())) for tensor in projection.tensors
        ]
    reshards = tuple(
        _required_sharding(tensors, index, tensor, axes, common)
        if needs_reshard or _has_other_devices(sharding, common, meshes)
        else None
        for index, (tensor, sharding, needs_reshard) in enumerate(
            zip(projection.tensors, tensors.shardings, is_resharded, strict=True)
        )
    )
    reduced = tuple(axis for factor in rule.reduction for axis in axes[factor])
    return Resolution(reshards, _to_reduce(reduced, tensors, common))


def _expressible(tensors: OpTensors, axes: FactorAxes, common: CommonMesh) -> FactorAxes:
    """Return the axes of each factor, restricted to those that every tensor with the factor can express."""
    rule, sizes = tensors.rule, tensors.rule.factor_sizes
    while True:
        restricted = list(axes)
        for mapping in rule.tensors:
            factors = {factor: FactorSharding(axes[factor]) for dim in mapping for factor in dim}
            sharding = to_sharding(TensorProjection(factors), mapping, sizes, None, common.reference, common.mesh)
            expressible = project_tensor(sharding, mapping, sizes, common.mesh)
            for factor in factors:
                restricted[factor] = common_prefix(restricted[factor], expressible.axes(factor) or ())
        if restricted == axes:
            return axes
        axes = restricted


@lru_cache(maxsize=65536)
def resolve_dot(tensors: OpTensors, common: CommonMesh) -> Resolution | None:
    """Return the resolution that reshards the result of a dot, None if resharding an operand is cheaper.

    Used only by the light version of explicit reshards. Source: docs/spec/05, 1.17.
    """
    projection = project(tensors.rule, tensors.shardings, common.mesh, missing_is_closed=True)
    result_axes = cheaper_result_axes(tensors.rule, projection, tensors.elements)
    if result_axes is None:
        return None
    factor, axes = result_axes
    result = projection.results[0]
    entry = replace(result.factors[factor], axes=axes, overflow=())
    required = TensorProjection({**result.factors, factor: entry}, result.replicated, result.unreduced)
    index = len(tensors.shardings) - 1
    sharding = to_sharding(
        required,
        tensors.rule.tensors[index],
        tensors.rule.factor_sizes,
        tensors.shardings[index],
        common.reference,
        common.mesh,
    )
    return Resolution((*(None,) * index, sharding))


def agreed_reduction_axes(tensors: OpTensors, common: CommonMesh) -> AxisList:
    """Return the reduction axes if no tensor is resharded; they matter only for an unreduced result."""
    result = _first_result(tensors)
    if result is None or not result.unreduced:
        return ()
    projection = project(tensors.rule, tensors.shardings, common.mesh, missing_is_closed=True)
    reduced: AxisList = ()
    for factor in tensors.rule.reduction:
        lists = {axes for tensor in projection.tensors if (axes := tensor.axes(factor)) is not None}
        reduced += lists.pop() if len(lists) == 1 else ()
    return _to_reduce(reduced, tensors, common)


def _to_reduce(axes: AxisList, tensors: OpTensors, common: CommonMesh) -> AxisList:
    result = _first_result(tensors)
    unreduced = () if result is None else result.unreduced
    return sort_and_merge(set_difference(axes, unreduced, common.mesh), common.mesh)


def _first_result(tensors: OpTensors) -> TensorSharding | None:
    results = tensors.shardings[len(tensors.rule.operands) :]
    return results[0] if results else None


def _has_other_axes(tensor: TensorProjection, axes: FactorAxes) -> bool:
    return any(entry.axes != axes[factor] for factor, entry in tensor.factors.items())


def _has_other_devices(sharding: TensorSharding | None, common: CommonMesh, meshes: MeshTable) -> bool:
    if sharding is None or sharding.is_fully_replicated:
        return False
    mesh = resolve_mesh(sharding.mesh, meshes)
    return mesh is not None and mesh.device_ids != common.mesh.device_ids


def _required_sharding(
    tensors: OpTensors, index: int, tensor: TensorProjection, axes: FactorAxes, common: CommonMesh
) -> TensorSharding:
    rule = tensors.rule
    # After a factor with overflow axes, factors of the same dim have no entry; upstream's choice for them is undefined.
    mapped = dict.fromkeys((factor for dim in rule.tensors[index] for factor in dim), FactorSharding(is_closed=True))
    entries = {**mapped, **tensor.factors}
    factors = {factor: replace(entry, axes=axes[factor], overflow=()) for factor, entry in entries.items()}
    required = TensorProjection(factors, tensor.replicated, tensor.unreduced)
    return to_sharding(
        required, rule.tensors[index], rule.factor_sizes, tensors.shardings[index], common.reference, common.mesh
    )


def _reshaped_sides(tensors: OpTensors, projection: Projection, axes: FactorAxes, common: CommonMesh) -> Sequence[bool]:
    """Return for each side of a reshape with redistributed axes whether its sharding changes."""
    return [
        not is_equivalent(sharding, _required_sharding(tensors, index, tensor, axes, common))
        for index, (tensor, sharding) in enumerate(zip(projection.tensors, tensors.shardings, strict=True))
    ]


def cheaper_result_axes(
    rule: OpShardingRule, projection: Projection, elements: tuple[int, ...]
) -> tuple[FactorIndex, AxisList] | None:
    """Return the factor of the result to reshard and the axes of the operands for it, None to leave the dot unchanged.

    `elements` are the element counts of lhs, rhs and result.
    """
    lhs, rhs = projection.operands
    reduction: AxisList = ()
    seen: list[AxisList] = []
    found: tuple[FactorIndex, AxisList] | None = None
    for number in range(len(rule.factor_sizes)):
        factor = FactorIndex(number)
        left, right = lhs.axes(factor), rhs.axes(factor)
        if left is not None and right is not None and left != right:
            return None
        axes = (left if left is not None else right) or ()
        if factor in rule.reduction:
            reduction += axes
            continue
        if (left is None or right is None) and any(lists_overlap(axes, other) for other in seen):
            return None
        seen.append(axes)
        if axes == projection.results[0].axes(factor):
            continue
        limit = max(count for count, own in zip(elements, (left, right), strict=False) if own is not None)
        if not axes or found is not None or elements[2] > limit:
            return None
        found = factor, axes
    if found is None:
        return None
    result_axes = projection.results[0].axes(found[0])
    return found if result_axes and result_axes == reduction else None


def op_mesh(shardings: Sequence[TensorSharding | None], meshes: MeshTable) -> CommonMesh | None:
    """Return the mesh that most sharded tensors refer to, None if there is none or the meshes have different axes.

    Meshes may differ in the order of devices. In a tie, the mesh that reaches the count first wins.

    Source: docs/spec/05, 1.11.
    """
    common = common_mesh(shardings, meshes, ignore_device_order=True)
    if common is None or common.mesh.is_maximal:
        return None
    votes: Counter[str | Mesh] = Counter()
    best: str | Mesh | None = None
    for sharding in shardings:
        if sharding is not None and not sharding.is_fully_replicated:
            votes[sharding.mesh] += 1
            if best is None or votes[sharding.mesh] > votes[best]:
                best = sharding.mesh
    mesh = None if best is None else resolve_mesh(best, meshes)
    return common if best is None or mesh is None else CommonMesh(mesh, best)
