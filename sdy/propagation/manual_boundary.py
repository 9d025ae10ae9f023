"""What the edge of a manual computation holds, and what its sources see. Source: docs/spec/02, 8.4."""

from __future__ import annotations

from sdy.model.manual_axes import with_manual_axes, without_manual_axes
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import ManualBoundary


def seen_by_sources(boundary: ManualBoundary, held: TensorSharding) -> TensorSharding:
    """What an edge holds, as the sources of the edge see it."""
    if boundary.is_result:
        return without_manual_axes(held, boundary.manual_axes)
    return with_manual_axes(boundary.outer, held, boundary.manual_axes)


def held_by_edge(boundary: ManualBoundary, seen: TensorSharding) -> TensorSharding:
    """What an edge must hold for its sources to see `seen`."""
    if boundary.is_result:
        return with_manual_axes(boundary.outer, seen, boundary.manual_axes)
    return without_manual_axes(seen, boundary.manual_axes)
