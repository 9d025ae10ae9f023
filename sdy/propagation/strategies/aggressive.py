"""The aggressive strategy: each tensor takes what it can, conflicts go to the factor with the larger source.

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

Candidates = dict[FactorIndex, AxisList]  # of the factors that have one, in the order in which they are served


def aggressive(step: OpStep, projection: Projection) -> Projection:
    """Expand results, then operands, each as far as it can follow the candidates of the initial projection."""
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
    """How strong the claim of a factor to its candidate is: the smaller is served first."""

    negative_source_size: int  # elements of the largest tensor that has the axes: the larger source goes first
    negative_devices: int  # of element-wise ops: what cuts into more pieces goes first; 0 of others
    source: int  # the place of that tensor, operands first
    factor: FactorIndex


def claim(step: OpStep, projection: Projection, factor: FactorIndex, axes: AxisList) -> Claim:
    """The claim of `factor` to `axes`, its candidate."""
    size, source = -1, -1
    for place, tensor in enumerate(projection.tensors):
        own = tensor.axes(factor)
        if own is not None and (own == axes or is_strict_list_prefix(axes, own)):
            own_size = tensor_size(tensor, step.rule.factor_sizes)
            if own_size > size:
                size, source = own_size, place
    devices = sharded_size(axes, step.mesh) if step.is_elementwise else 0
    return Claim(-size, -devices, source, factor)


def _expand(
    step: OpStep, tensor: TensorProjection, candidates: Candidates, limits: tuple[TensorProjection, ...]
) -> TensorProjection:
    for factor, wanted in candidates.items():
        own = tensor.axes(factor)
        if own is None:
            continue
        axes = _that_fits(step, tensor, factor, wanted, own)
        for limit in limits:
            limit_axes = limit.axes(factor)
            if axes and limit_axes is not None and is_strict_list_prefix(limit_axes, axes):
                axes = limit_axes
        if axes:
            tensor = tensor.expanded(factor, axes)
    return tensor


def _that_fits(
    step: OpStep, tensor: TensorProjection, factor: FactorIndex, wanted: AxisList, own: AxisList
) -> AxisList:
    """What of `wanted` the tensor can have; empty where that is no more than it has."""
    size = step.rule.factor_sizes[factor]

    def trim_within(axis: AxisRef, size_before: int) -> AxisRef | None:
        return fit_in_factor(axis, size_before, tensor, factor, size, step.mesh)

    def trim_across(axis: AxisRef, _size_before: int) -> AxisRef | None:
        return fit_beside_other_factors(axis, tensor, factor)

    axes = trimmed(wanted, trim_within, step.mesh, step.conservative)
    if not is_strict_list_prefix(own, axes):
        return ()
    return trimmed(axes, trim_across, step.mesh, step.conservative)
