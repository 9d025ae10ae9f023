"""The cost network of a module on a machine: `LayoutNetwork`, whose costs are times.

The labels of an op are the ways to shard the factors of its rule, and the cost of a label is the time of the op by the
roofline model. Costs are sums over all runs of an op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.cost.executions import execution_counts
from sdy.cost.hardware import Hardware
from sdy.cost.kernels.work import work_by_op
from sdy.cost.roofline import FREE_OPS, Product, accessed_bytes, compute_seconds, product_of
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.partitioner.layout_search.graph import GraphValue, LayoutNode, NodeTensor
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.layout_network import LayoutEnd, LayoutNetwork
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.network.cost_network import Table
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import ModuleGraph
from sdy.search.layout_choices import OpLayoutChoices
from sdy.search.transfer_costs import Objective, TransferCosts

TIE_BREAK = 1e-5  # the share of the time to read an argument or a result that counts as a cost


class ProgramNetwork(LayoutNetwork):
    """The cost network of a module on a machine."""

    def __init__(
        self,
        module: ModuleOp,
        read: ModuleGraph,
        transfers: TransferCosts,
        hardware: Hardware,
        objective: Objective,
        choices: OpLayoutChoices,
    ) -> None:
        self._digits = read.digits
        self._times = execution_counts(module)
        self._transfers = transfers
        self._hardware = hardware
        self._works = work_by_op(module, hardware.kernels)
        self._objective = objective
        self._numbers = read.number_of_value()
        op_layouts = [choices.of(number, node.kind) for number, node in enumerate(read.graph.nodes)]
        seconds = (
            self._seconds(op, node, own) if isinstance(op, Operation) else self._boundary_seconds(op, own)
            for node, own, op in zip(read.graph.nodes, op_layouts, read.ops, strict=True)
        )
        super().__init__(read.graph, op_layouts, (objective.seconds * each for each in seconds))

    def table(self, value: GraphValue, sources: Sequence[Layout], targets: Sequence[Layout]) -> Table:
        """Return the times of bringing a value once from each source (rows) to each target (columns)."""
        return self._transfers.table(sources, targets, value.tensor.bytes, self._objective)

    def layout_for_users(self, value: SSAValue, labels: Sequence[int]) -> Layout | None:
        """Return the layout to which a value is brought for its users: for a single user, the one that it needs.

        Return None if the search does not choose it.
        """
        number = self._numbers[value]
        found, end = self.graph.values[number], self.shared.get(number)
        if end is not None:
            return end.layouts[labels[end.variable]]
        if found.users:
            return self.layout(found.users[0], labels)
        return None if found.producer is None else self.layout(found.producer, labels)

    def labels_like(self, other: ProgramNetwork, labels: Sequence[int]) -> list[int]:
        """Return the labels that stand for the same layouts as those of another network of the program."""
        found = [0] * len(self.network.costs)
        for node, op_layout in enumerate(other.chosen(labels)):
            found[node] = self.op_layouts[node].index(op_layout)
        for value, end in self.shared.items():
            same = other.shared[value]
            found[end.variable] = end.layouts.index(same.layouts[labels[same.variable]])
        return found

    def pin(self, node: int, is_allowed: Callable[[Layout], bool]) -> None:
        """Forbid the labels of a node whose layout of its first value is not allowed; ignored if none is."""
        allowed = np.array([is_allowed(op_layout.layouts[0]) for op_layout in self.op_layouts[node]])
        if allowed.any():
            self.network.add_costs(node, np.where(allowed, 0.0, np.inf))

    def tie(self, result: int, argument: int, size: int) -> None:
        """Add the cost of bringing a result of `size` bytes, given by its node, to the layout of an argument."""
        source, target = (LayoutEnd.of_tensor(NodeTensor(node, 0), self.op_layouts) for node in (result, argument))
        table = self._transfers.table(source.layouts, target.layouts, size, self._objective)
        self.network.add_table(source.variable, target.variable, table[np.ix_(source.numbers, target.numbers)])

    def local_bytes(self, value: SSAValue, labels: Sequence[int]) -> float:
        """Return the bytes of a value on one device with the layouts that the labels stand for.

        Values that every device can compute anew, such as constants, count as 0.
        """
        found = self._value(value)
        if found is None or found.is_free:
            return 0.0 if found else tensor_bytes(value.type)
        layout = found.layout if found.producer is None else self.layout(found.producer, labels)
        return tensor_bytes(value.type) / self._digits.shards(layout.dims)

    def bytes_by_label(self, value: SSAValue) -> tuple[int, NDArray[np.float64]] | None:
        """Return the variable that decides the layout of a value, and the bytes of a shard for each of its labels.

        Return None if the layout is fixed.
        """
        found = self._value(value)
        if found is None or found.producer is None:
            return None
        end = LayoutEnd.of_tensor(found.producer, self.op_layouts)
        sizes = np.array([tensor_bytes(value.type) / self._digits.shards(layout.dims) for layout in end.layouts])
        return end.variable, sizes[end.numbers]

    def users_of(self, value: SSAValue) -> frozenset[NodeTensor]:
        """Return the users of a value, which equal values of repeated layers share."""
        found = self._value(value)
        return frozenset() if found is None else frozenset(found.users)

    def _value(self, value: SSAValue) -> GraphValue | None:
        number = self._numbers.get(value)
        return None if number is None else self.graph.values[number]

    def _seconds(self, op: Operation, node: LayoutNode, op_layouts: Sequence[OpLayout]) -> NDArray[np.float64]:
        """Return the time that an op takes with each op layout, over all its executions."""
        work = self._works.get(op)
        if isinstance(op, FREE_OPS) or work is None:
            return np.zeros(len(op_layouts))
        kernels = self._hardware.kernels
        sizes = [tensor_bytes(value.type) for value in (*op.operands, *op.results)]
        moved, compute = np.zeros(len(op_layouts)), np.zeros(len(op_layouts))
        for label, op_layout in enumerate(op_layouts):
            shards = [self._digits.shards(layout.dims) for layout in op_layout.layouts]
            moved[label] = accessed_bytes(op, [size / count for size, count in zip(sizes, shards, strict=True)], work)
            if node.flops:
                flops = node.flops / self._digits.shards(op_layout.assignment.factors)
                product = self._local_product(op, op_layout)
                compute[label] = compute_seconds(flops, op.operands[0].type, product, self._hardware, work)
        memory = moved / (self._hardware.hbm_bandwidth * kernels.hbm_efficiency)
        overlapped = np.maximum(compute, memory) + kernels.unhidden * np.minimum(compute, memory)
        return self._times[op] * (overlapped + kernels.start_seconds * work.starts)

    def _local_product(self, op: Operation, op_layout: OpLayout) -> Product | None:
        if not isinstance(op, DotGeneralOp):
            return None
        local = [
            [
                -(-size // self._digits.shards((digits,)))
                for size, digits in zip(shape_of(operand), layout.dims, strict=True)
            ]
            for operand, layout in zip(op.operands, op_layout.layouts, strict=False)
        ]
        return product_of(op, *local)

    def _boundary_seconds(self, edge: ValueEdge, op_layouts: Sequence[OpLayout]) -> NDArray[np.float64]:
        """Return a tiny cost of the memory of an argument or a result: of equal layouts, the smaller one is chosen."""
        if edge.sources and edge.targets:
            return np.zeros(len(op_layouts))
        shards = np.array([self._digits.shards(op_layout.layouts[0].dims) for op_layout in op_layouts])
        return TIE_BREAK * tensor_bytes(edge.value.type) / self._hardware.hbm_bandwidth / shards
