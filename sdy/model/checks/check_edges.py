"""Checks of propagation edges. Source: docs/spec/01, 4.8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.checks.first_problem import Problems, first_problem
from sdy.model.mesh import Mesh
from sdy.model.propagation_edges import EdgeNode, EdgeNodeKind, PropagationEdges
from sdy.model.sharding import TensorSharding


@first_problem
def check_propagation_edges(edges: PropagationEdges) -> Problems:
    """Check P1 to P4, which do not depend on the op that the edges belong to."""
    seen: set[int] = set()
    for step in edges:
        if step.index < 0:
            yield Diagnostic("SDY-S301", f"propagation step index must not be negative, got {step.index}")
        if step.index in seen:
            yield Diagnostic("SDY-S302", f"propagation step {step.index} is listed twice")
        seen.add(step.index)
        for flow in step.flows:
            if flow.source in flow.targets:
                yield Diagnostic("SDY-S303", f"axis {flow.axis} flows from {flow.source} to itself")
            for index, node in enumerate(flow.targets):
                if node in flow.targets[:index]:
                    yield Diagnostic("SDY-S304", f"axis {flow.axis} flows twice from {flow.source} to {node}")


def nodes_of(edges: PropagationEdges) -> Iterator[EdgeNode]:
    """Yield every node, step by step and flow by flow: the source, then the targets."""
    for step in edges:
        for flow in step.flows:
            yield flow.source
            yield from flow.targets


def is_in_range(node: EdgeNode, operands: int, results: int) -> bool:
    """Return whether the index of `node` is valid for an op with this many operands and results."""
    return 0 <= node.index < (operands if node.kind is EdgeNodeKind.OPERAND else results)


def check_edges_have_shardings(shardings: Sequence[TensorSharding]) -> Diagnostic | None:
    """Check P5: some value that the edges refer to has a sharding. `shardings` are those that exist."""
    message = "expected at least one value of the propagation edges to have a sharding"
    return None if shardings else Diagnostic("SDY-S305", message)


def check_flows(
    edges: PropagationEdges, mesh: Mesh | None, operands: int, results: int, *, any_index: bool
) -> Diagnostic | None:
    """Check P6 to P8: the shardings share `mesh`, it has the axes, and node indices are valid unless `any_index`."""
    if mesh is None:
        return Diagnostic("SDY-S306", "the values of the propagation edges must have a common mesh")
    for step in edges:
        for flow in step.flows:
            if not mesh.has_axis(flow.axis.name):
                axes = ", ".join(f'"{axis.name}"' for axis in mesh.axes)
                return Diagnostic(
                    "SDY-S307",
                    f"the mesh has no axis {flow.axis}, which a propagation edge refers to",
                    hint=f"axes of the mesh: {axes}",
                )
            for node in (flow.source, *flow.targets):
                if not any_index and not is_in_range(node, operands, results):
                    return Diagnostic(
                        "SDY-S308",
                        f"propagation edge refers to {node}, but the op has {operands} operands and {results} results",
                    )
    return None
