"""Debug records of the axes that a pass moves, and the attributes that they are written to.

    before  %0 = stablehlo.add %arg0, %arg0
    after   %0 = stablehlo.add %arg0, %arg0 {sdy.sharding_origins = [{x = "input: 0"}],
                sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>}

Source: docs/spec/02, 9.3 to 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.func_attrs import with_attribute
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import EDGES, PropagationEdgesAttr
from sdy.model.axis import AxisRef, order_key
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationEdges, PropagationStep
from sdy.passes.propagation.annotations import Origins, annotation_origins
from sdy.passes.propagation.origin_attributes import write_origins
from sdy.propagation.graph import Node, Value
from sdy.propagation.trace import AxisMove, TraceStep, holders_of

NumberedMoves = tuple[int, Sequence[AxisMove]]  # the number of a step, and the axes moved in it


def propagation_edges(steps: Iterable[NumberedMoves], operand_count: int) -> PropagationEdges:
    """Return the edges of an op with `operand_count` operands. An axis that moves again is recorded at its first step.

    >>> from sdy.model.rule import FactorIndex
    >>> moves = [AxisMove(AxisRef("x"), FactorIndex(0), 0, target) for target in (2, 1)]
    >>> [[str(target) for target in flow.targets] for flow in propagation_edges([(4, moves)], 2)[0].flows]
    [['operand-1', 'result-0']]

    Source: docs/spec/02, 9.4 and 9.6.
    """
    first: dict[tuple[AxisRef, int, int], int] = {}
    for number, moves in steps:
        for move in moves:
            key = (move.axis, move.source, move.target)
            first[key] = min(number, first.get(key, number))
    flows: dict[int, dict[tuple[AxisRef, int], list[int]]] = {}
    for (axis, source, target), number in first.items():
        flows.setdefault(number, {}).setdefault((axis, source), []).append(target)
    return tuple(PropagationStep(number, _flows(flows[number], operand_count)) for number in sorted(flows))


def _flows(targets: Mapping[tuple[AxisRef, int], list[int]], operand_count: int) -> tuple[AxisFlow, ...]:
    """Return the flows of one step, in the order of the axes."""
    return tuple(
        AxisFlow(
            axis,
            _node(source, operand_count),
            tuple(_node(target, operand_count) for target in sorted(targets[axis, source])),
        )
        for axis, source in sorted(targets, key=lambda key: (order_key(key[0]), key[1]))
    )


def _node(tensor: int, operand_count: int) -> EdgeNode:
    if tensor < operand_count:
        return EdgeNode(EdgeNodeKind.OPERAND, tensor)
    return EdgeNode(EdgeNodeKind.RESULT, tensor - operand_count)


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """The records that a pass keeps."""

    sharding_origins: bool = False
    propagation_edges: bool = False

    @property
    def records_any(self) -> bool:
        """Return whether any record is kept."""
        return self.sharding_origins or self.propagation_edges


@dataclass
class _EdgesOfOp:
    """The recorded steps at one op."""

    operand_count: int
    steps: list[NumberedMoves] = field(default_factory=list[NumberedMoves])


class DebugRecords:
    """The records of one pass over a module. Must be created before the pass changes anything."""

    def __init__(self, module: ModuleOp, options: DebugOptions) -> None:
        self._module = module
        self.meshes = meshes_of(module)
        self._origins: Origins[SSAValue] | None = annotation_origins(module) if options.sharding_origins else None
        self._keeps_edges = options.propagation_edges
        self._edges: dict[Operation, _EdgesOfOp] = {}
        self._edges_of_results: list[NumberedMoves] = []
        self._next_step = _first_step(module)

    def add_step(
        self, op: Operation, moves: Sequence[AxisMove], operand_count: int, values: Sequence[SSAValue | None]
    ) -> None:
        """Record the next step: the axes that moved at `op`.

        `values` store the shardings of its tensors, operands then results.
        """
        edges = self._edges.setdefault(op, _EdgesOfOp(operand_count))
        self._add(edges.steps, moves, values)

    def add_trace(
        self,
        steps: Sequence[TraceStep],
        op_of_node: Mapping[Node, Operation],
        stored_on: Mapping[Value, SSAValue],
    ) -> None:
        """Record the steps of an engine's trace."""
        for step in steps:
            holders = holders_of(step.site)
            if isinstance(step.site, Node):
                values = [None if holder is None else stored_on.get(holder) for holder in holders]
                self.add_step(op_of_node[step.site], step.moves, len(step.change.before.operands), values)
            else:
                # The attribute of a function result has no origins: those of the returned value are used.
                returned = None if holders[0] is None else stored_on.get(holders[0])
                self._add(self._edges_of_results, step.moves, (returned, returned))

    def write(self) -> None:
        """Write the records as attributes of the ops that still exist."""
        alive = set(pre_order(self._module))
        if self._origins is not None:
            write_origins(self._module, {value: found for value, found in self._origins if op_of(value) in alive})
        if not self._keeps_edges:
            return
        for op, edges in self._edges.items():
            if op in alive and (found := propagation_edges(edges.steps, edges.operand_count)):
                op.attributes[EDGES] = PropagationEdgesAttr(found)
        if found := propagation_edges(self._edges_of_results, operand_count=1):
            func = main_function(self._module)
            count = len(func.function_type.outputs)
            # As in Shardy, the first result gets the edges of all results.
            func.res_attrs = with_attribute(func.res_attrs, count, 0, EDGES, PropagationEdgesAttr(found))

    def _add(self, steps: list[NumberedMoves], moves: Sequence[AxisMove], values: Sequence[SSAValue | None]) -> None:
        if self._origins is not None:
            self._origins.follow(moves, values)
        steps.append((self._next_step, moves))
        self._next_step += 1


def _first_step(module: ModuleOp) -> int:
    """Return the number after the last step that an earlier pass recorded."""
    recorded = (op.attributes.get(EDGES) for op in pre_order(module))
    edges = [attr.data for attr in recorded if isinstance(attr, PropagationEdgesAttr)]
    return max((step.index for each in edges for step in each), default=-1) + 1
