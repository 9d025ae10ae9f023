"""The basic strategy: shard a factor only as far as every tensor can follow.

It resolves no conflicts: if two factors claim one axis in some tensor, or tensors disagree, neither gets it.
Source: docs/spec/02, 3.
"""

from __future__ import annotations

from functools import partial

from sdy.model.axis import AxisRef
from sdy.model.rule import FactorIndex
from sdy.propagation.projection import Projection
from sdy.propagation.strategies.candidates import candidate, fit_beside_other_factors, fit_in_factor, trimmed
from sdy.propagation.strategies.step import OpStep


def basic(step: OpStep, projection: Projection) -> Projection:
    """Extend all tensors, factor by factor, to the axes that all of them can take."""
    for number in range(len(step.rule.factor_sizes)):
        factor = FactorIndex(number)
        trim = partial(_fit_everywhere, step, projection, factor)
        candidate_axes = candidate(projection, factor, step.directions[factor])
        axes = trimmed(candidate_axes, trim, step.mesh, step.conservative)
        if axes:
            projection = projection.with_tensors(tensor.expanded(factor, axes) for tensor in projection.tensors)
    return projection


def _fit_everywhere(
    step: OpStep, projection: Projection, factor: FactorIndex, axis: AxisRef, size_before: int
) -> AxisRef | None:
    """Return the longest prefix of `axis` that fits all tensors, including those that only have other factors."""
    rest: AxisRef | None = axis
    for tensor in projection.tensors:
        rest = fit_beside_other_factors(rest, tensor, factor)
        if rest is not None and factor in tensor.factors:
            rest = fit_in_factor(rest, size_before, tensor, factor, step.rule.factor_sizes[factor], step.mesh)
        if rest is None:
            return None
    return rest
