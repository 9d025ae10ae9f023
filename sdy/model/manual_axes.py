"""Conversion of shardings at the boundary of a manual computation: local inside, with manual axes outside.

The axes of every dim are manual axes followed by free ones. Source: docs/spec/01, 6.4.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile

from sdy.model.axis import AxisList
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding


def without_manual_axes(sharding: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """Return the local sharding, as seen inside the body: without the manual axes."""
    if not manual_axes:
        return sharding

    def free(axes: AxisList) -> AxisList:
        return tuple(axis for axis in axes if axis.name not in manual_axes)

    dims = tuple(replace(dim, axes=dim.axes[len(manual_prefix(dim, manual_axes)) :]) for dim in sharding.dims)
    return replace(sharding, dims=dims, replicated=free(sharding.replicated), unreduced=free(sharding.unreduced))


def with_manual_axes(outer: TensorSharding, inner: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """Return `inner` with the manual axes of each dim of `outer`, and the replicated and unreduced axes of `outer`."""
    dims = tuple(
        replace(new, axes=(*manual_prefix(old, manual_axes), *new.axes))
        for old, new in zip(outer.dims, inner.dims, strict=True)
    )
    return TensorSharding(inner.mesh, dims, outer.replicated, outer.unreduced, ReductionKind.SUM)


def manual_prefix(dim: DimSharding, manual_axes: Collection[str]) -> AxisList:
    """Return the manual axes at the major end of the dim."""
    return tuple(takewhile(lambda axis: axis.name in manual_axes, dim.axes))
