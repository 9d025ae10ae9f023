"""Reading a module into the graph on which less communication is searched for.

Reshards, and the all-reduces that complete an op, are no nodes: they are how values get from one layout to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from sdy.cost.executions import executions
from sdy.cost.tensor_bytes import element_bytes
from sdy.cost.work import contraction_flops
from sdy.dialects.data_flow import Source
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ConstantOp, ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.control import CaseOp, IfOp, OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.shape import IotaOp
from sdy.dialects.stablehlo.types import element_type_of
from sdy.dialects.walk import pre_order
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.communication.graph import End, Graph, Node, Value
from sdy.partitioner.communication.layout import Atoms, Cut, Layout, Sizes, Tensor, replicated
from sdy.partitioner.communication.linearity import partial_modes
from sdy.partitioner.communication.node import Assignment, Counts, Kind, Mode, Run
from sdy.partitioner.reduction_kinds import reduction_kinds
from sdy.partitioner.shard_rules import counts_on_shards, shard_rule
from sdy.passes.export.communication_edges import Edge, edges_of, functions_on_whole_tensors

FREE = (ConstantOp, IotaOp)  # any device can make any part of it
CONTROL = (WhileOp, CaseOp, IfOp)
OPAQUE = (*CONTROL, CallOp, OptimizationBarrierOp, ManualComputationOp, *FREE)


@dataclass(frozen=True, slots=True)
class Use:
    """An operand by which a value is read: by a node, or where there is none, in a fixed layout."""

    source: Source
    end: End | None
    layout: Layout


@dataclass(slots=True)
class Binding:
    """What a value of the graph is in the module. `kind`: how partial results of it combine."""

    value: SSAValue
    kind: ReductionKind
    uses: list[Use] = field(default_factory=list[Use])


@dataclass(slots=True)
class ModuleGraph:
    """The graph of a module, and what its parts are there.

    `ops` has one entry a node: the op, or the edge of a value that is in several places. `transfers` are the ops by
    which values change their layout now.
    """

    atoms: Atoms
    graph: Graph
    ops: list[Operation | Edge]
    bindings: list[Binding]
    transfers: list[Operation]
    positions: dict[Operation, int]


class IllegibleShardingError(Exception):
    """A sharding that the search cannot spell: it cuts through an atom, or is partial already."""


class GraphReader:
    """Reads one module, on one mesh."""

    def __init__(self, module: ModuleOp, atoms: Atoms) -> None:
        self._module = module
        self._atoms = atoms
        self._counts = atoms.counts()
        self._functions = functions_on_whole_tensors(module)
        self._layouts: dict[TensorSharding, Layout] = {}
        self._kinds: dict[tuple[OpShardingRule, tuple[Mode, ...], Counts], Kind] = {}
        self._values: list[Value] = []
        self._bindings: list[Binding] = []
        self._transfers: list[Operation] = []
        self._number: dict[SSAValue, int] = {}
        self._positions = {op: number for number, op in enumerate(pre_order(module))}
        self._times: Counter[Operation] = Counter()
        for op, times in executions(module):
            self._times[op] += times
        edges = list(edges_of(module, self._functions))
        self._ops: list[Operation | Edge] = [*edges]
        self._nodes = [self._edge_node(edge) for edge in edges]
        self._read_at: dict[Source, End] = {}
        self._made_at: dict[SSAValue, End] = {}
        for number, edge in enumerate(edges):
            self._read_at |= {source: End(number, place) for place, source in enumerate(edge.sources)}
            first = len(edge.sources)
            self._made_at |= {target: End(number, first + place) for place, target in enumerate(edge.targets)}

    def read(self) -> ModuleGraph:
        """The graph of the module, whose reshards and all-reduces are explicit.

        Raises: IllegibleShardingError.
        """
        for func in self._functions.values():
            self._read_region(func.body)
        for edge, node in zip(self._ops, self._nodes, strict=True):
            if isinstance(edge, Edge):
                places = (*(source.value for source in edge.sources), *edge.targets)
                node.values = tuple(self._number[value] for value in places)
        graph = Graph(self._nodes, self._values)
        return ModuleGraph(self._atoms, graph, self._ops, self._bindings, self._transfers, self._positions)

    def _edge_node(self, edge: Edge) -> Node:
        shape = static_shape(edge.targets[0].type)
        assert shape is not None  # edges of other values are left out
        layout = self._layout(sharding_of(edge.targets[0]), shape)
        identity = tuple((FactorIndex(dim),) for dim in range(len(shape)))
        rule = OpShardingRule(shape, (identity,) * len(edge.sources), (identity,) * len(edge.targets))
        layouts = (layout,) * (len(edge.sources) + len(edge.targets))
        return Node(self._kind(rule), Run(Assignment(layout.dims), layouts), is_edge=True)

    def _kind(self, rule: OpShardingRule, modes: tuple[Mode, ...] = (), counts: Counts = ()) -> Kind:
        key = rule, modes, counts
        if key not in self._kinds:
            self._kinds[key] = Kind(rule, modes, self._atoms, counts)
        return self._kinds[key]

    def _layout(self, sharding: TensorSharding | None, shape: Sizes) -> Layout:
        if sharding is None:
            return replicated(len(shape))
        known = self._layouts.get(sharding)
        if known is None:
            known = self._layouts[sharding] = self._spelled(sharding)
        return known

    def _spelled(self, sharding: TensorSharding) -> Layout:
        dims: list[Cut] = []
        for dim in sharding.dims:
            cut = self._atoms.split(dim.axes)
            if cut is None or sharding.unreduced:
                raise IllegibleShardingError
            dims.append(cut)
        return Layout(tuple(dims))

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
                for inner in op.regions if isinstance(op, CONTROL) else ():
                    self._read_region(inner)
                self._read_op(op)

    def _define(self, value: SSAValue, times: int, kind: ReductionKind = ReductionKind.SUM) -> None:
        shape = static_shape(value.type)
        if shape is None:
            return
        width = element_bytes(element_type_of(value))
        layout = self._layout(sharding_of(value), shape)
        is_free = isinstance(value.owner, FREE)
        self._number[value] = len(self._values)
        self._values.append(Value(Tensor(shape, width), times, layout, is_free, self._made_at.get(value)))
        self._bindings.append(Binding(value, kind))

    def _read_op(self, op: Operation) -> None:
        node = self._node(op)
        number = len(self._nodes)
        for index, operand in enumerate(op.operands):
            if operand in self._number:
                self._read_operand(Source(op, index), None if node is None else End(number, index))
        kinds = reduction_kinds(op) or (ReductionKind.SUM,) * len(op.results)
        for result, kind in zip(op.results, kinds, strict=True):
            if node is not None:
                self._made_at[result] = End(number, len(op.operands) + result.index)
            self._define(result, self._times[op], kind)
        if node is not None:
            node.values = tuple(self._number[value] for value in (*op.operands, *op.results))
            self._nodes.append(node)
            self._ops.append(op)

    def _read_operand(self, source: Source, end: End | None) -> None:
        number = self._number[source.value]
        value = self._values[number]
        end = self._read_at.get(source, end)
        layout = self._layout(sharding_of(source.value), value.tensor.shape)
        self._bindings[number].uses.append(Use(source, end, layout))
        if end is None:
            value.fixed_needs.add(layout)
        else:
            value.readers.append(end)

    def _is_transfer(self, op: Operation) -> bool:
        """Whether an op only brings a value of the graph to another layout."""
        if not isinstance(op, ReshardOp | AllReduceOp) or op.operands[0] not in self._number:
            return False
        if isinstance(op, ReshardOp):
            return True
        maker = self._values[self._number[op.tensor]].maker
        if maker is None:
            return False
        reduced = self._atoms.split(op.reduction_axes.data)
        return (
            reduced is not None and tuple(sorted(reduced)) == self._nodes[maker.node].run.layouts[maker.place].unreduced
        )

    def _node(self, op: Operation) -> Node | None:
        """The node of an op that can be run in other ways, as it is run now."""
        rule = None if isinstance(op, OPAQUE) or op.has_trait(IsTerminator) else shard_rule(op)
        values = (*op.operands, *op.results)
        shapes = [static_shape(value.type) for value in values]
        if rule is None or not op.results or not all(operand in self._number for operand in op.operands):
            return None
        modes = tuple(mode for mode in partial_modes(op) if self._takes_sums(op, mode))
        if reduction_kinds(op) is None:
            rule, modes = _without_reduction(rule), ()
        kind = self._kind(rule, modes, tuple(counts_on_shards(op, self._counts).items()))
        layouts = [
            self._layout(sharding_of(value), shape)
            for value, shape in zip(values, shapes, strict=True)
            if shape is not None
        ]
        assignment = _assignment(kind, layouts) if len(layouts) == len(values) else None
        run = None if assignment is None else kind.run(assignment)
        if run is None or [each.dims for each in run.layouts] != [each.dims for each in layouts]:
            return None
        return Node(kind, run, flops=contraction_flops(op))

    def _takes_sums(self, op: Operation, mode: Mode) -> bool:
        """Whether partial results of the operands of a mode add up: of a maximum, say, no op is linear."""
        given = (operand for operand, is_partial in zip(op.operands, mode, strict=True) if is_partial)
        return all(self._bindings[self._number[operand]].kind is ReductionKind.SUM for operand in given)


def _assignment(kind: Kind, layouts: Sequence[Layout]) -> Assignment | None:
    """The assignment by which the tensors of an op lie like this, where they agree."""
    cuts: dict[int, Cut] = {}
    for place, layout in enumerate(layouts):
        for factor, cut in (kind.project(place, layout) or {}).items():
            if cuts.setdefault(factor, cut) != cut:
                return None
    return kind.assignment(cuts)


def _without_reduction(rule: OpShardingRule) -> OpShardingRule:
    """The rule of an op whose partial results nothing completes: what it reduces must be whole."""
    whole = tuple(sorted((*rule.reduction, *rule.need_replication)))
    return replace(rule, reduction=(), need_replication=whole)
