"""Propagate a copy of a module and record every step.

Runs the passes of the propagation pipeline up to the end of propagation; the result stays in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from sdy.model.sharding import TensorSharding
from sdy.passes.manager.pipelines import before_propagation
from sdy.passes.propagation.flat_module import FlatModule
from sdy.passes.propagation.propagate import flatten
from sdy.passes.run import run_passes
from sdy.propagation.engine import Engine
from sdy.propagation.graph import Value
from sdy.propagation.history import History
from sdy.propagation.trace import Trace
from sdy.propagation.user_priority import run_by_user_priority


@dataclass(frozen=True)
class TracedPropagation:
    """`module` is the input of propagation; the graph of `flat` has the result, and `history` the steps."""

    module: ModuleOp
    flat: FlatModule
    initial: dict[Value, TensorSharding]
    history: History


def trace_propagation(ctx: Context, module: ModuleOp) -> TracedPropagation:
    """Propagate in a copy of `module`. Raises: SdyError if the module is not valid for propagation."""
    imported = module.clone()
    run_passes(ctx, imported, before_propagation(), verify_each=False)
    flat = flatten(ctx, imported)
    graph = flat.graph
    initial = {holder: sharding for holder in graph.holders if (sharding := graph.sharding(holder)) is not None}
    trace = Trace()
    run_by_user_priority(graph, Engine(graph, on_update=trace.record))
    return TracedPropagation(imported, flat, initial, History(initial, trace.steps))
