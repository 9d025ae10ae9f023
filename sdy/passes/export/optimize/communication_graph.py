"""Read a module into the graph that the layout search works on.

Reshards, and all-reduces of partial results, are not nodes: they are the transfers between layouts of a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, Region, SSAValue

from sdy.cost.executions import execution_counts
from sdy.cost.flops import op_flops
from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.facts.traits import generates, is_terminator
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import element_bytes, static_shape
from sdy.dialects.shardings import is_on_single_device, sharding_of
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.control import ControlFlowOp, OptimizationBarrierOp
from sdy.model.mesh_digits import DigitTuple, NumberedDigits
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.layout_search.graph import GraphValue, LayoutGraph, LayoutNode, NodeTensor, merge_equivalent
from sdy.partitioner.layout_search.layout import Layout, TensorSize, replicated
from sdy.partitioner.layout_search.linearity import partial_operand_sets
from sdy.partitioner.layout_search.node import (
    Assignment,
    LayoutNodeKind,
    OpLayout,
    PartialOperands,
    shared_kind,
)
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds
from sdy.partitioner.on_shards.shard_rules import allowed_shard_counts, shard_rule
from sdy.passes.export.optimize.communication_edges import (
    ValueEdge,
    boundary_edges_of,
    edges_of,
    functions_on_global_tensors,
)
from sdy.passes.export.reshards.reshard_op import without_reduction

# Ops whose layouts are those of the values that they pass on or in, if they have any.
OPAQUE = CallOp | ControlFlowOp | OptimizationBarrierOp | ManualComputationOp


class Use(NamedTuple):
    """An operand that reads a value: of a node, or in a fixed layout if it has no node."""

    source: EdgeSource
    end: NodeTensor | None
    layout: Layout


@dataclass(slots=True)
class Binding:
    """The SSA value of a graph value, and its current layout. `kind`: how its partial results combine."""

    value: SSAValue
    layout: Layout
    kind: ReductionKind
    uses: list[Use] = field(default_factory=list[Use])


@dataclass(slots=True)
class ModuleGraph:
    """The graph of a module, and the ops and values that its parts stand for.

    `ops` has one entry per node: an op, or a value edge. `bindings` covers all values, `numbers` maps SSA values to
    graph values, and `transfers` are the ops that currently change layouts. `unread` are the shardings that the
    digits do not represent.
    """

    digits: NumberedDigits
    graph: LayoutGraph
    ops: list[Operation | ValueEdge]
    bindings: list[Binding]
    numbers: list[int]
    transfers: list[Operation]
    positions: dict[Operation, int]
    unread: list[TensorSharding]

    def number_of_value(self) -> dict[SSAValue, int]:
        """Return the number of the graph value of each SSA value, without results of transfers."""
        return {binding.value: number for number, binding in zip(self.numbers, self.bindings, strict=True)}


class GraphReader:
    """Reads one module on one mesh.

    A value whose sharding splits a digit, or has partial values, is not in the graph; the op that computes it keeps its
    layouts. With `is_free`, all shardings are yet to be chosen: arguments and results of the main function are nodes
    too, and only the in and out shardings of manual computations are layouts of values.
    """

    def __init__(self, module: ModuleOp, digits: NumberedDigits, *, is_free: bool = False) -> None:
        self._module = module
        self._meshes = meshes_of(module)
        self._digits = digits
        self._is_free = is_free
        self._counts = digits.counts()
        self._functions = functions_on_global_tensors(module)
        self._layouts: dict[SSAValue, Layout | None] = {}
        self._layout_by_sharding: dict[TensorSharding, Layout | None] = {}
        self._values: list[GraphValue] = []
        self._bindings: list[Binding] = []
        self._transfers: list[Operation] = []
        self._number: dict[SSAValue, int] = {}
        self._positions = {op: number for number, op in enumerate(pre_order(module))}
        self._times = execution_counts(module)
        found = [*edges_of(module, self._functions), *(boundary_edges_of(module) if is_free else ())]
        edges = [edge for edge in found if None not in map(self._layout, (edge.value, *edge.targets))]
        self._ops: list[Operation | ValueEdge] = [*edges]
        self._nodes = [self._edge_node(edge) for edge in edges]
        self._edge_users: dict[EdgeSource, NodeTensor] = {}
        self._producers: dict[SSAValue, NodeTensor] = {}
        for number, edge in enumerate(edges):
            self._edge_users |= dict.fromkeys(edge.sources, NodeTensor(number, 0))
            self._producers |= dict.fromkeys(edge.targets, NodeTensor(number, 0))

    def read(self) -> ModuleGraph:
        """Return the graph of the module, whose reshards and all-reduces are explicit."""
        for func in self._functions.values():
            self._read_region(func.body)
        values, numbers = merge_equivalent(self._values)
        for number, (op, node) in enumerate(zip(self._ops, self._nodes, strict=True)):
            if isinstance(op, ValueEdge):
                members = (*(source.value for source in op.sources), *op.targets)
                own = tuple(dict.fromkeys(numbers[self._number[value]] for value in members))
                self._nodes[number] = self._edge_node(op, own)
            else:
                node.values = tuple(numbers[value] for value in node.values)
        graph = LayoutGraph(self._nodes, values)
        unread = [sharding for sharding, layout in self._layout_by_sharding.items() if layout is None]
        return ModuleGraph(
            self._digits, graph, self._ops, self._bindings, numbers, self._transfers, self._positions, unread
        )

    def _edge_node(self, edge: ValueEdge, values: tuple[int, ...] = ()) -> LayoutNode:
        """Return the node of an edge; its values are added when they are known."""
        shape, layout = static_shape(edge.value.type), self._layout(edge.value)
        assert shape is not None  # edges have static shapes
        assert layout is not None
        count = max(1, len(values))
        identity = tuple((FactorIndex(dim),) for dim in range(len(shape)))
        partial_sets = ((True,) * count,) if values and self._passes_sums(edge) else ()
        kind = shared_kind(OpShardingRule(shape, (identity,) * count, ()), partial_sets, self._digits, ())
        return LayoutNode(kind, OpLayout(Assignment(layout.dims), (layout,) * count), values, is_edge=True)

    def _passes_sums(self, edge: ValueEdge) -> bool:
        """Return whether the value of an edge may be partial: the partial values of all its sources are sums."""
        numbers = (self._number[source.value] for source in edge.sources)
        is_sum = all(self._bindings[number].kind is ReductionKind.SUM for number in numbers)
        return bool(edge.sources and edge.targets) and is_sum and element_type_of(edge.value) != i1

    def _layout(self, value: SSAValue) -> Layout | None:
        """Return the current layout of a value; None unless it is a tensor of static shape on all devices.

        A layout is also None if the digits do not represent it, or the value is partial.
        """
        try:
            return self._layouts[value]
        except KeyError:
            shape, sharding = static_shape(value.type), None if self._is_free else sharding_of(value)
            if shape is None or (sharding is not None and is_on_single_device(sharding, self._meshes)):
                found = None
            elif sharding is None:
                found = replicated(len(shape))
            else:
                found = self._layout_of(sharding)
            self._layouts[value] = found
            return found

    def _layout_of(self, sharding: TensorSharding) -> Layout | None:
        if sharding not in self._layout_by_sharding:
            dims = [self._digits.split(dim.axes) for dim in sharding.dims]
            known = tuple(digits for digits in dims if digits is not None)
            is_known = len(known) == len(dims) and not sharding.unreduced
            self._layout_by_sharding[sharding] = Layout(known) if is_known else None
        return self._layout_by_sharding[sharding]

    def _read_region(self, region: Region) -> None:
        for block in region.blocks:
            times = 0 if block.first_op is None else self._times[block.first_op]
            for argument in block.args:
                self._define(argument, times)
            for op in block.ops:
                if self._is_transfer(op):
                    self._number[op.results[0]] = self._number[op.operands[0]]
                    self._transfers.append(op)
                    continue
                for inner in op.regions if isinstance(op, ControlFlowOp) else ():
                    self._read_region(inner)
                self._read_op(op)

    def _define(self, value: SSAValue, times: int, kind: ReductionKind = ReductionKind.SUM) -> None:
        shape, layout, owner = static_shape(value.type), self._layout(value), value.owner
        if isinstance(owner, ManualComputationOp) and isinstance(value, OpResult):
            layout = self._layout_of(owner.out_shardings.data[value.index])
        if shape is None or layout is None:
            return
        width = element_bytes(element_type_of(value))
        is_free = isinstance(owner, Operation) and generates(owner)
        self._number[value] = len(self._values)
        self._values.append(GraphValue(TensorSize(shape, width), times, layout, is_free, self._producers.get(value)))
        self._bindings.append(Binding(value, layout, kind))

    def _read_op(self, op: Operation) -> None:
        node = self._node(op)
        number = len(self._nodes)
        for index, operand in enumerate(op.operands):
            if operand in self._number:
                self._read_operand(EdgeSource(op, index), None if node is None else NodeTensor(number, index))
        kinds = reduction_kinds(op) or (ReductionKind.SUM,) * len(op.results)
        for result, kind in zip(op.results, kinds, strict=True):
            if node is not None:
                self._producers[result] = NodeTensor(number, len(op.operands) + result.index)
            self._define(result, self._times[op], kind)
        if node is not None:
            node.values = tuple(self._number[value] for value in (*op.operands, *op.results))
            self._nodes.append(node)
            self._ops.append(op)

    def _read_operand(self, source: EdgeSource, end: NodeTensor | None) -> None:
        number = self._number[source.value]
        value = self._values[number]
        end = self._edge_users.get(source, end)
        layout = self._layout(source.value)
        if isinstance(source.op, ManualComputationOp):
            layout = self._layout_of(source.op.in_shardings.data[source.index])
        assert layout is not None  # every numbered value is a tensor
        self._bindings[number].uses.append(Use(source, end, layout))
        if end is None:
            value.fixed_needs.add(layout)
        elif end not in value.users:
            value.users.append(end)

    def _is_transfer(self, op: Operation) -> bool:
        """Return whether an op only changes the layout of a value of the graph."""
        if not isinstance(op, ReshardOp | AllReduceOp) or op.operands[0] not in self._number:
            return False
        if isinstance(op, ReshardOp):
            return self._layout(op.result) is not None
        producer = self._values[self._number[op.tensor]].producer
        if producer is None:
            return False
        reduced = self._digits.split(op.reduction_axes.data)
        return (
            reduced is not None
            and tuple(sorted(reduced)) == self._nodes[producer.node].op_layout.layouts[producer.position].unreduced
        )

    def _node(self, op: Operation) -> LayoutNode | None:
        """Return the node of an op with its current assignment; None if the op cannot run otherwise."""
        is_opaque = isinstance(op, OPAQUE) or generates(op) or is_terminator(op)
        rule = None if is_opaque else shard_rule(op)
        if rule is None or not op.results or not all(operand in self._number for operand in op.operands):
            return None
        found = [self._layout(value) for value in (*op.operands, *op.results)]
        layouts = [layout for layout in found if layout is not None]
        if len(layouts) != len(found):
            return None  # a result is a token, or on one device
        partial_sets = tuple(each for each in partial_operand_sets(op) if self._takes_sums(op, each))
        if reduction_kinds(op) is None:
            rule, partial_sets = without_reduction(rule), ()
        kind = shared_kind(rule, partial_sets, self._digits, tuple(allowed_shard_counts(op, self._counts).items()))
        assignment = _assignment(kind, layouts)
        op_layout = None if assignment is None else kind.op_layout(assignment)
        if op_layout is None or [each.dims for each in op_layout.layouts] != [each.dims for each in layouts]:
            return None
        return LayoutNode(kind, op_layout, flops=op_flops(op))

    def _takes_sums(self, op: Operation, partial_operands: PartialOperands) -> bool:
        """Return whether the partial operands of an op are sums; no op is linear in partial maxima."""
        partial = (operand for operand, is_partial in zip(op.operands, partial_operands, strict=True) if is_partial)
        return all(self._bindings[self._number[operand]].kind is ReductionKind.SUM for operand in partial)


def _assignment(kind: LayoutNodeKind, layouts: Sequence[Layout]) -> Assignment | None:
    """Return the assignment that gives the tensors of an op these layouts; None if they disagree."""
    factor_digits: dict[int, DigitTuple] = {}
    for index, layout in enumerate(layouts):
        for factor, digits in (kind.project(index, layout) or {}).items():
            if factor_digits.setdefault(factor, digits) != digits:
                return None
    return kind.assignment(factor_digits)
