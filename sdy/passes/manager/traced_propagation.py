"""Propagate a module and record every step.

Runs the passes of the propagation pipeline up to the end of propagation; the result stays in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import pre_order
from sdy.model.sharding import TensorSharding
from sdy.passes.propagation.flatten import FlatModule
from sdy.passes.propagation.propagate import PropagationRun, ScheduledPass, flatten, run_engine, write_result
from sdy.passes.rewriting.op_order import op_order
from sdy.passes.run import flattened, run_passes
from sdy.propagation.graph import Value
from sdy.propagation.trace import History, Trace


@dataclass(frozen=True)
class TracedPropagation:
    """`module` is the input of propagation; the graph of `flat` has the result, and `history` the steps."""

    module: ModuleOp
    flat: FlatModule
    initial: dict[Value, TensorSharding]
    history: History


@dataclass(frozen=True)
class TracedPropagatePass(ModulePass):
    """A propagation pass that also keeps a record of its steps.

    `found` gets the record. It has a copy of the module, because later passes change the module.
    """

    run: PropagationRun
    found: list[TracedPropagation] = field(default_factory=list[TracedPropagation])

    name = "sdy-traced-propagate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate the shardings of the module, and write the rules for the export."""
        order = op_order(op)
        flat = flatten(ctx, op, conservative=self.run.schedule.conservative)
        values: dict[SSAValue, SSAValue] = {}
        copy = copy_with_regions(op, values)
        ops = dict(zip(pre_order(op), pre_order(copy), strict=True))
        self.found.append(_traced(copy, flat.of_copy(ops, values), self.run))
        write_result(op, order, flat, keep_rules=True)


def _traced(module: ModuleOp, flat: FlatModule, run: PropagationRun) -> TracedPropagation:
    """Propagate in the graph of a module."""
    graph = flat.graph
    initial = {holder: sharding for holder in graph.holders if (sharding := graph.sharding(holder)) is not None}
    trace = Trace()
    run_engine(module, flat, run, trace.record)
    return TracedPropagation(module, flat, initial, History(initial, trace.steps))


def trace_propagation(ctx: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> TracedPropagation:
    """Run the first of `passes` on a copy of `module`, up to the propagation, whose steps are recorded.

    Raises: SdyError if the module is not valid for propagation, SDY-T013 if no pass propagates by a schedule.
    """
    imported = copy_with_regions(module)
    before = list(takewhile(lambda each: not isinstance(each, ScheduledPass), flattened(passes)))
    propagation = next((each for each in flattened(passes) if isinstance(each, ScheduledPass)), None)
    if propagation is None:
        raise SdyError(_NOTHING_TO_RECORD)
    run = propagation.propagation_run()
    run_passes(ctx, imported, before, verify_each=False)
    return _traced(imported, flatten(ctx, imported, conservative=run.schedule.conservative), run)


_NOTHING_TO_RECORD = Diagnostic(
    "SDY-T013",
    "no pass of the pipeline propagates shardings by a schedule, so nothing can be explained",
    hint="derive the pass that propagates from sdy.extend.CustomPropagatePass",
)


def with_trace(passes: Sequence[ModulePass]) -> tuple[list[ModulePass], TracedPropagatePass]:
    """Return the passes with the first propagation replaced by one that records its steps, and that pass.

    Raises: SdyError SDY-T013 if no pass propagates by a schedule.
    """
    replaced = list(flattened(passes))
    for index, each in enumerate(replaced):
        if isinstance(each, ScheduledPass):
            traced = TracedPropagatePass(each.propagation_run())
            replaced[index] = traced
            return replaced, traced
    raise SdyError(_NOTHING_TO_RECORD)
