"""User priorities: dims with a smaller priority number are propagated through the whole program first.

Dims of later priorities are hidden: they become closed dims whose axes are explicitly replicated, so that earlier
priorities can neither shard them nor use their axes. They are revealed one priority after the other.
Source: docs/spec/02, 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sdy.model.axis import AxisList
from sdy.model.axis_on_mesh import in_mesh_order
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.propagation.engine import Engine
from sdy.propagation.graph import Graph, Value

Hidden = list[tuple[Value, TensorSharding]]  # holders, and the shardings that the user wrote


def run_by_user_priority(graph: Graph, engine: Engine, before_next: Callable[[int], None] | None = None) -> None:
    """Run the engine for priority 0, then for each other priority in ascending order, revealing its dims first.

    At the end, the engine visits what the sweeps of Shardy miss, if its schedule asks for it (`Engine.finish`).

    `before_next` is called with each finished priority except the last.
    """
    for_priority = hide(graph, engine)
    engine.run()
    finished = 0
    for priority in sorted(for_priority):
        if before_next is not None:
            before_next(finished)
        for holder, original in for_priority[priority]:
            current = graph.sharding(holder)
            if current is not None:
                engine.assign(holder, graph.shardings.number(revealed(current, original, priority)))
        engine.run()
        finished = priority
    engine.finish()


def hide(graph: Graph, engine: Engine) -> dict[int, Hidden]:
    """Hide all dims of later priorities; return, by priority, the holders that have dims to reveal."""
    for_priority: dict[int, Hidden] = {}
    for holder in graph.holders:
        original = graph.sharding(holder)
        if original is None:
            continue
        later = {dim.priority for dim in original.dims if dim.priority}
        for priority in sorted(later):
            for_priority.setdefault(priority, []).append((holder, original))
        if later or any(dim.priority is not None for dim in original.dims):
            engine.assign(holder, graph.shardings.number(initial(original, graph.meshes)))
    return for_priority


def initial(sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> TensorSharding:
    """Return the sharding with the dims of later priorities hidden, and all priorities removed."""
    hidden: AxisList = tuple(axis for dim in sharding.dims if dim.priority for axis in dim.axes)
    dims = tuple(DimSharding() if dim.priority else replace(dim, priority=None) for dim in sharding.dims)
    mesh = resolve_mesh(sharding.mesh, meshes)
    replicated = (*sharding.replicated, *hidden)
    return replace(sharding, dims=dims, replicated=in_mesh_order(replicated, mesh) if mesh else replicated)


def revealed(current: TensorSharding, original: TensorSharding, priority: int) -> TensorSharding:
    """Return `current` with the dims that `original` has at `priority`; their axes are no longer replicated."""
    shown = {axis for dim in original.dims if dim.priority == priority for axis in dim.axes}
    dims = tuple(
        replace(written, priority=None) if written.priority == priority else now
        for now, written in zip(current.dims, original.dims, strict=True)
    )
    return replace(current, dims=dims, replicated=tuple(axis for axis in current.replicated if axis not in shown))
