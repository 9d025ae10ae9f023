"""Explain a plan: for each axis along which it shards an argument, what the best plan without it would cost.

Equal arguments, such as a weight of all layers, are one class. The axis is forbidden for the whole class, and the cost
network is solved again. The prices are those of the network, which combines no collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

import numpy as np
from xdsl.ir import BlockArgument

from sdy.cost.quantities import seconds_text
from sdy.diagnostics.wording import counted, first_names
from sdy.dialects.sharded_types import tensor_bytes
from sdy.documents.document import document
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.minimum import minimum
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import FittedTable, fitted_table
from sdy.report.tables.program_tables import bytes_text
from sdy.search.layout_choices import boundary_nodes
from sdy.search.program_network import ProgramNetwork
from sdy.search.search_request import Goal
from sdy.search.searched_module import SearchedModule


@dataclass(frozen=True, slots=True)
class AxisChoice:
    """An axis that shards a dim of equal arguments, and the best plan without it.

    `extra` is what that plan costs more, in seconds or, if bytes are minimized, in bytes; it is None if there is no
    plan without the axis. `alternative` is the PartitionSpec that the arguments have then, or empty.
    """

    names: tuple[str, ...]
    spec: str
    dim: int
    axis: str
    extra: float | None = None
    alternative: str = ""

    @property
    def place(self) -> str:
        """The axis and the dim."""
        return f"{self.axis} (dim {self.dim})"


@dataclass(frozen=True, slots=True)
class PlanExplanation(Reported):
    """The axes that a plan chose, each with its best alternative. `cost` is that of the best plan in the network.

    `untried` counts the choices for which there was no time.
    """

    goal: Goal
    mesh: Mesh
    cost: float
    choices: Sequence[AxisChoice]
    untried: int = 0

    def __repr__(self) -> str:
        return f"PlanExplanation({counted(len(self.choices), 'choice')} of an axis)"

    def _meshes(self) -> Mapping[str, Mesh]:
        return {"mesh": self.mesh}

    def _tables(self) -> Sequence[FittedTable]:
        columns = ("value", "sharding", "axis", "without it", "costs more")
        ordered = sorted(self.choices, key=lambda each: -inf if each.extra is None else -each.extra)
        rows = (
            (
                first_names(each.names),
                each.spec,
                each.place,
                each.alternative or "-",
                self._extra_text(each),
            )
            for each in ordered
        )
        return [fitted_table("the best plan without each axis", columns, rows, right=(4,))]

    def to_json(self) -> dict[str, object]:
        """Return the explanation as plain data."""
        choices = [document("AxisChoice", each, values=each.names) for each in self.choices]
        return document("PlanExplanation", self, minimized=self.goal, choices=choices)

    def _extra_text(self, choice: AxisChoice) -> str:
        if choice.extra is None:
            return "no other plan"
        text = bytes_text if self.goal is Goal.BYTES else seconds_text
        share = f" ({abs(choice.extra) / self.cost:.1%})" if self.cost > 0 else ""
        return f"{'-' if choice.extra < 0 else ''}{text(abs(choice.extra))}{share}"

    def _notes(self) -> Iterator[str]:
        if not self.choices and not self.untried:
            yield "No argument is sharded."
        yield "Prices are those of the search's cost network, in which no collectives are combined."
        if self.untried:
            yield f"Time was up before {self.untried} other choices were examined."


@dataclass(slots=True)
class AlternativeSearch:
    """Solves the cost network of a program with choices forbidden. `costs` has a price for memory if that is tight."""

    searched: SearchedModule
    network: ProgramNetwork
    costs: CostNetwork
    labels: Sequence[int]  # the best ones

    def choices(
        self, shardings: Mapping[int, TensorSharding], names: Sequence[str], seconds: float
    ) -> tuple[list[AxisChoice], int]:
        """Return the choices of the arguments with these shardings, by number, and how many were not tried in time."""
        end = monotonic() + seconds
        found: list[AxisChoice] = []
        tasks = list(self._tasks(shardings, names))
        for nodes, choice in tasks:
            if monotonic() > end:
                break
            found.append(self._with_alternative(nodes, choice, end - monotonic()))
        return found, len(tasks) - len(found)

    def _tasks(
        self, shardings: Mapping[int, TensorSharding], names: Sequence[str]
    ) -> Iterator[tuple[list[int], AxisChoice]]:
        """Yield the nodes of each class of arguments with each of their axes, the largest arguments first."""
        classes: dict[object, list[tuple[int, int]]] = {}
        for index, node in boundary_nodes(self.searched.graph)[0].items():
            sharding, value = shardings.get(index), self._value(node)
            if sharding is not None and not sharding.is_fully_replicated:
                key = value.type, write_partition_spec(sharding), self.network.users_of(value)
                classes.setdefault(key, []).append((node, index))
        sizes = {key: tensor_bytes(self._value(members[0][0]).type) for key, members in classes.items()}
        for key in sorted(classes, key=lambda each: -sizes[each]):
            members = classes[key]
            sharding = shardings[members[0][1]]
            own = tuple(names[index] for _, index in members)
            for dim, of_dim in enumerate(sharding.dims):
                for axis in dict.fromkeys(ref.name for ref in of_dim.axes):
                    yield [node for node, _ in members], AxisChoice(own, write_partition_spec(sharding), dim, axis)

    def _value(self, node: int) -> BlockArgument:
        op = self.searched.graph.ops[node]
        assert isinstance(op, ValueEdge)
        assert isinstance(op.targets[0], BlockArgument)
        return op.targets[0]

    def _with_alternative(self, nodes: Sequence[int], choice: AxisChoice, seconds: float) -> AxisChoice:
        """Return the choice with the best plan without it; if the network would do without, with the best with it."""
        digit = next(n for n, ref in enumerate(self.searched.graph.digits.refs) if ref.name == choice.axis)
        has_axis = {
            node: np.array([digit in each.layouts[0].dims[choice.dim] for each in self.network.op_layouts[node]])
            for node in nodes
        }
        is_chosen = any(has_axis[node][self.labels[node]] for node in nodes)
        network = self.costs.copy()
        for node in nodes:
            network.add_costs(node, np.where(has_axis[node] == is_chosen, np.inf, 0.0))
        other = minimum(network, max(1.0, seconds))
        if other is None:
            return choice
        extra = other.cost - self.costs.cost_of(self.labels)
        without = other.labels if is_chosen else self.labels
        layout = self.network.op_layouts[nodes[0]][without[nodes[0]]].layouts[0]
        return replace(choice, extra=extra if is_chosen else -extra, alternative=self._spec(layout))

    def _spec(self, layout: Layout) -> str:
        digits = self.searched.graph.digits
        dims = tuple(DimSharding(digits.join(dim)) for dim in layout.dims)
        return write_partition_spec(TensorSharding(self.searched.mesh_name, dims))
