"""Propagate a module and record every step.

Runs the passes of the propagation pipeline up to the end of propagation; the result stays in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import pre_order
from sdy.model.sharding import TensorSharding
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.propagation.flat_module import FlatModule
from sdy.passes.propagation.propagate import UserPriorityPropagatePass, flatten, write_result
from sdy.passes.rewriting.op_order import op_order
from sdy.passes.run import flattened, run_passes
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
    imported = copy_with_regions(module)
    run_passes(ctx, imported, Propagation.beyond_shardy().before_propagation(), verify_each=False)
    return _traced(imported, flatten(ctx, imported))


def _traced(module: ModuleOp, flat: FlatModule) -> TracedPropagation:
    """Propagate in the graph of a module."""
    graph = flat.graph
    initial = {holder: sharding for holder in graph.holders if (sharding := graph.sharding(holder)) is not None}
    trace = Trace()
    schedule = UserPriorityPropagatePass(until_stable=True).schedule()
    run_by_user_priority(graph, Engine(graph, schedule, on_update=trace.record))
    return TracedPropagation(module, flat, initial, History(initial, trace.steps))


@dataclass(frozen=True)
class TracedPropagatePass(ModulePass):
    """The pass `sdy-user-priority-propagate` of the propagation pipeline, which also keeps a record of its steps.

    `found` gets the record. It has a copy of the module, because later passes change the module.
    """

    name = UserPriorityPropagatePass.name

    found: list[TracedPropagation] = field(default_factory=list[TracedPropagation])

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate the shardings of the module, and write the rules for the export."""
        order = op_order(op)
        flat = flatten(ctx, op)
        values: dict[SSAValue, SSAValue] = {}
        copy = copy_with_regions(op, values)
        ops = dict(zip(pre_order(op), pre_order(copy), strict=True))
        self.found.append(_traced(copy, flat.of_copy(ops, values)))
        write_result(op, order, flat, keep_rules=True)


def with_trace(passes: Sequence[ModulePass]) -> tuple[list[ModulePass], TracedPropagatePass]:
    """Return the passes of a pipeline with the propagation replaced by one that records its steps, and that pass."""
    traced = TracedPropagatePass()
    replaced = [traced if isinstance(each, UserPriorityPropagatePass) else each for each in flattened(passes)]
    return replaced, traced
