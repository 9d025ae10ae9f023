"""The aggressive strategy: each tensor takes the axes that fit; conflicts are won by the factor with the larger source.

Source: docs/spec/02, 4.
"""

from __future__ import annotations

from typing import NamedTuple

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import is_strict_list_prefix, sharded_size
from sdy.model.rule import FactorIndex
from sdy.propagation.projection import Projection, TensorProjection, tensor_size
from sdy.propagation.strategies.candidates import candidate, fit_beside_other_factors, fit_in_factor, trimmed
from sdy.propagation.strategies.step import OpStep

Candidates = dict[FactorIndex, AxisList]  # only factors that have one, in the order of their claims


def aggressive(step: OpStep, projection: Projection) -> Projection:
    """Extend results, then operands, each as far as it can follow the candidates of the initial projection."""
    candidates = _candidates(step, projection)
    if not candidates:
        return projection
    results = tuple(_expand(step, result, candidates, ()) for result in projection.results)
    # An element-wise op does not shard an operand further than its results, which are final by now.
    limits = results if step.is_elementwise else ()
    operands = tuple(_expand(step, operand, candidates, limits) for operand in projection.operands)
    return Projection(operands, results)


def _candidates(step: OpStep, projection: Projection) -> Candidates:
    found: Candidates = {}
    for number, direction in enumerate(step.directions):
        axes = candidate(projection, FactorIndex(number), direction)
        if axes:
            found[FactorIndex(number)] = axes
    if len(found) < 2:
        return found
    order = sorted(found, key=lambda factor: claim(step, projection, factor, found[factor]))
    return {factor: found[factor] for factor in order}


class Claim(NamedTuple):
    """The strength of a factor's claim to its candidate axes. Smaller claims are served first."""

    negative_source_size: int  # elements of the largest tensor that has the axes, negated: the larger source wins
    negative_devices: int  # shards of the candidate in element-wise ops, negated: more shards win; 0 in other ops
    source: int  # the index of that tensor, operands first
    factor: FactorIndex


def claim(step: OpStep, projection: Projection, factor: FactorIndex, axes: AxisList) -> Claim:
    """Return the claim of `factor` to `axes`, its candidate."""
    size, source = -1, -1
    for index, tensor in enumerate(projection.tensors):
        if tensor.has_axes(factor, axes):
            own_size = tensor_size(tensor, step.rule.factor_sizes)
            if own_size > size:
                size, source = own_size, index
    devices = sharded_size(axes, step.mesh) if step.is_elementwise else 0
    return Claim(-size, -devices, source, factor)


def _expand(
    step: OpStep, tensor: TensorProjection, candidates: Candidates, limits: tuple[TensorProjection, ...]
) -> TensorProjection:
    for factor, candidate_axes in candidates.items():
        own = tensor.axes(factor)
        if own is None:
            continue
        axes = _fitting_axes(step, tensor, factor, candidate_axes, own)
        for limit in limits:
            limit_axes = limit.axes(factor)
            if axes and limit_axes is not None and is_strict_list_prefix(limit_axes, axes):
                axes = limit_axes
        if axes:
            tensor = tensor.expanded(factor, axes)
    return tensor


def _fitting_axes(
    step: OpStep, tensor: TensorProjection, factor: FactorIndex, candidate_axes: AxisList, own: AxisList
) -> AxisList:
    """Return the candidate axes that the tensor can take; empty if they are no more than it has."""
    size = step.rule.factor_sizes[factor]

    def trim_within(axis: AxisRef, size_before: int) -> AxisRef | None:
        return fit_in_factor(axis, size_before, tensor, factor, size, step.mesh)

    def trim_across(axis: AxisRef, _size_before: int) -> AxisRef | None:
        return fit_beside_other_factors(axis, tensor, factor)

    axes = trimmed(candidate_axes, trim_within, step.mesh, step.conservative)
    if not is_strict_list_prefix(own, axes):
        return ()
    return trimmed(axes, trim_across, step.mesh, step.conservative)
