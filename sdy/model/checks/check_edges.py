"""Whether propagation edges make sense. Source: docs/spec/01, 4.8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.mesh import Mesh
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationEdges
from sdy.model.sharding import TensorSharding


def check_propagation_edges(edges: PropagationEdges) -> Diagnostic | None:
    """P1 to P4: what holds whatever op the edges are of."""
    seen: set[int] = set()
    for step in edges:
        if step.index < 0:
            return Diagnostic("SDY-S301", f"the propagation step index {step.index} is negative")
        if step.index in seen:
            return Diagnostic("SDY-S302", f"the propagation step {step.index} is there twice")
        seen.add(step.index)
        problem = next((problem for flow in step.flows if (problem := _check_targets(flow)) is not None), None)
        if problem is not None:
            return problem
    return None


def _check_targets(flow: AxisFlow) -> Diagnostic | None:
    if flow.source in flow.targets:
        return Diagnostic("SDY-S303", f"the axis {flow.axis} flows from {flow.source} to itself")
    repeated = next((node for place, node in enumerate(flow.targets) if node in flow.targets[:place]), None)
    if repeated is None:
        return None
    return Diagnostic("SDY-S304", f"the axis {flow.axis} flows twice from {flow.source} to {repeated}")


def nodes_of(edges: PropagationEdges) -> Iterator[EdgeNode]:
    """Every node, step by step and flow by flow: the source, then the targets."""
    for step in edges:
        for flow in step.flows:
            yield flow.source
            yield from flow.targets


def is_in_range(node: EdgeNode, operands: int, results: int) -> bool:
    """Whether an op with so many operands and results has the node."""
    return 0 <= node.index < (operands if node.kind is EdgeNodeKind.OPERAND else results)


def check_edges_have_shardings(shardings: Sequence[TensorSharding]) -> Diagnostic | None:
    """P5: of the values that edges name, some have a sharding. `shardings` are those that they have."""
    return None if shardings else Diagnostic("SDY-S305", "no value of the propagation edges has a sharding")


def check_flows(
    edges: PropagationEdges, mesh: Mesh | None, operands: int, results: int, *, any_index: bool
) -> Diagnostic | None:
    """P6 to P8: the shardings share `mesh`, which has the axes, and the op has the nodes unless `any_index`."""
    if mesh is None:
        return Diagnostic("SDY-S306", "the values of the propagation edges have no common mesh")
    for step in edges:
        for flow in step.flows:
            if not mesh.has_axis(flow.axis.name):
                axes = ", ".join(f'"{axis.name}"' for axis in mesh.axes)
                return Diagnostic(
                    "SDY-S307", f"the mesh has no axis {flow.axis} of a propagation edge", hint=f"its axes: {axes}"
                )
            for node in (flow.source, *flow.targets):
                if not any_index and not is_in_range(node, operands, results):
                    return Diagnostic(
                        "SDY-S308", f"a propagation edge names {node}, of {operands} operands and {results} results"
                    )
    return None
