"""The values of the user's program and the holders of their shardings in a traced propagation, in both directions."""

from __future__ import annotations

from functools import cached_property

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.data_flow import op_of
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_of
from sdy.model.sharding import TensorSharding
from sdy.passes.manager.traced_propagation import TracedPropagation
from sdy.propagation.graph import Value
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.trace_descriptions import TraceDescriptions


class TracedValues:
    """Maps values of the user's program to holders, and holders to values and annotations."""

    def __init__(self, traced: TracedPropagation, counterparts: Counterparts, descriptions: TraceDescriptions) -> None:
        self._traced = traced
        self._counterparts = counterparts
        self._descriptions = descriptions

    def holders(self, written: SSAValue) -> list[Value | None]:
        """Return the holders of the shardings of a value's copies; None for a copy that cannot be sharded."""
        copies = self._counterparts.transformed(written)
        return list(dict.fromkeys(self._traced.flat.value(copy).holder for copy in copies))

    def shardings(self, written: SSAValue) -> list[TensorSharding | None]:
        """Return the propagated sharding of each copy of a value; None for a copy without one."""
        graph = self._traced.flat.graph
        return [None if holder is None else graph.sharding(holder) for holder in self.holders(written)]

    def annotation(self, holder: Value) -> tuple[SSAValue | int, TensorSharding] | None:
        """Return the annotation of the user's program that a holder starts with, and its value.

        The value is that of a sharding constraint if the sharding comes from one, or the number of a result of the main
        function. Return None if the holder has no annotation, or if its annotation belongs to a manual computation or
        to another member of a sharding group.
        """
        sharding = self._traced.initial.get(holder)
        if sharding is None:
            return None
        results = {each.holder: index for index, each in enumerate(self._traced.flat.graph.main_results)}
        if holder in results:
            return results[holder], sharding
        stored = self._stored_on.get(holder)
        if stored is None or _is_of_manual_computation(stored):
            return None
        written = self._counterparts.written(stored)
        if written is not None and _is_annotated(written):
            return written, sharding
        user = self._descriptions.constraining_user(stored, sharding)
        if not isinstance(user, ShardingConstraintOp):
            return None
        constraint = self._counterparts.written(user.result)
        return None if constraint is None else (constraint, sharding)

    def written(self, holder: Value) -> SSAValue | None:
        """Return the value of the user's program whose sharding a holder stores; None if there is none."""
        stored = self._stored_on.get(holder)
        return None if stored is None else self._counterparts.written(stored)

    @cached_property
    def _stored_on(self) -> dict[Value, SSAValue]:
        return self._traced.flat.stored_on()


def _is_annotated(value: SSAValue) -> bool:
    """Return whether a value of the user's program has a sharding of its own."""
    is_in_region = isinstance(value, BlockArgument) and not isinstance(op_of(value), FuncOp)
    return not is_in_region and sharding_of(value) is not None


def _is_of_manual_computation(stored: SSAValue) -> bool:
    """Return whether a sharding is stored on an edge of a manual computation, whose in and out shardings set it."""
    edge = op_of(stored)
    return isinstance(edge, DataFlowEdgeOp) and isinstance(op_of(edge.input), ManualComputationOp)
