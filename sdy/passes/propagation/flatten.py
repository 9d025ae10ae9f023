"""From a module to the graph that the engine propagates over, and the result back.

Each place that can hold a sharding becomes a holder, numbered once; the module is not looked at again until the
shardings that changed are written. Source: spec of propagation, sections 1.5 to 1.10, 2.4 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.data_flow import DATA_FLOW_OPS, Source, edge_of_source, index_of, op_of, sources_of
from sdy.dialects.data_flow import other_targets_of as linked_targets_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import (
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    PropagationBarrierOp,
    ReshardOp,
    ShardingConstraintOp,
)
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import (
    function_result_sharding,
    holder,
    result_shardings,
    set_function_result_sharding,
    set_result_shardings,
    set_sharding,
    sharding_of,
)
from sdy.dialects.symbols import calls_of, main_function
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.model.sharding import TensorSharding
from sdy.passes.propagation.op_traits import is_elementwise, is_erasable, pass_through
from sdy.propagation.graph import Boundary, Direction, FunctionResult, Graph, Holder, Node, NodeKind, PassThrough, Value

RuleOf = Callable[[Operation], OpShardingRule | None]


class FlatModule:
    """A module and its graph, and what belongs to what."""

    def __init__(self, module: ModuleOp, rule_of: RuleOf) -> None:
        self.graph = Graph(meshes_of(module))
        self._module = module
        self._rule_of = rule_of
        self._nodes: dict[Operation, Node] = {}
        self._values: dict[SSAValue, Value] = {}
        self._stored_on: dict[Holder, SSAValue] = {}
        self._function_results: dict[tuple[FuncOp, int], Holder] = {}
        for op in module.ops:
            self._add(op, None)
        self._link()

    def value(self, ssa: SSAValue) -> Value:
        """The value of the graph that stands for `ssa`."""
        return self._values[ssa]

    def operations(self) -> dict[Node, Operation]:
        """The op that each node stands for."""
        return {node: op for op, node in self._nodes.items()}

    def stored_on(self) -> dict[Holder, SSAValue]:
        """The value on which the sharding of each holder is stored; attributes of function results are not there."""
        return self._stored_on

    def rules(self) -> Iterator[tuple[Operation, OpShardingRule]]:
        """The ops that propagate along a rule, and that rule; erased ones left out."""
        for op, node in self._nodes.items():
            if node.kind is NodeKind.RULE and not node.is_erased:
                yield op, self.graph.rules.value(node.rule)

    def write_back(self) -> None:
        """Write the shardings that changed, then erase the ops that were erased from the graph. May run again."""
        for (func, index), holder_ in self._function_results.items():
            sharding = self.graph.sharding(holder_)
            if holder_.is_changed and sharding is not None:
                set_function_result_sharding(func, index, sharding)
        for op, node in self._nodes.items():
            if type(op) in KEEPERS or not any(_is_changed(result) for result in node.results):
                continue
            set_result_shardings(op, tuple(self._present_sharding(result) for result in node.results))
        for holder_, ssa in self._stored_on.items():
            sharding = self.graph.sharding(holder_)
            if holder_.is_changed and sharding is not None and not _is_plain_result(ssa):
                set_sharding(ssa, sharding)
        for op, node in reversed(list(self._nodes.items())):
            if node.is_erased and op.parent is not None and (node.parent is None or not node.parent.is_erased):
                op.detach()
                op.erase()

    def _present_sharding(self, value: Value) -> TensorSharding:
        """The sharding of a result of an op that has shardings: it has them all."""
        assert value.holder is not None
        return self.graph.shardings.value(value.holder.sharding)

    # Nodes, values and holders, in program order

    def _add(self, op: Operation, parent: Node | None) -> None:
        node = Node(len(self.graph.nodes), _kind(op), parent)
        self._nodes[op] = node
        self.graph.nodes.append(node)
        if parent is not None:
            parent.children.append(node)
        node.is_erasable = is_erasable(op)
        if type(op) in KEEPERS:
            node.results = [self._new_value(result, node) for result in op.results]
        else:
            self._add_plain_results(op, node)
        if type(op) is FuncOp:
            self._add_function_results(op)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self._new_value(argument, node).is_block_argument = True
                for inner in block.ops:
                    self._add(inner, node)

    def _add_plain_results(self, op: Operation, node: Node) -> None:
        """Results whose shardings are entries of the attribute `sdy.sharding`: they come to have one together."""
        shardings = result_shardings(op)
        holders: list[Holder] = []
        for index, result in enumerate(op.results):
            shape = static_shape(result.type) or ()
            value = self._values[result] = Value(node, is_scalar_tensor=is_scalar_tensor(result.type))
            value.holder = self.graph.new_holder(shardings[index] if shardings else None, len(shape), value)
            self._stored_on[value.holder] = result
            node.results.append(value)
            holders.append(value.holder)
        if len(holders) > 1:
            for holder_ in holders:
                holder_.siblings = holders

    def _new_value(self, ssa: SSAValue, owner: Node) -> Value:
        """A value whose sharding may be stored anywhere."""
        value = self._values[ssa] = Value(owner, is_scalar_tensor=is_scalar_tensor(ssa.type))
        if holder(ssa) is ssa:
            value.holder = self.graph.new_holder(sharding_of(ssa), rank_of_type(ssa.type), value)
            self._stored_on[value.holder] = ssa
        return value

    def _add_function_results(self, func: FuncOp) -> None:
        for index, value_type in enumerate(func.function_type.outputs):
            sharding = function_result_sharding(func, index)
            self._function_results[func, index] = self.graph.new_holder(sharding, rank_of_type(value_type))

    # What refers to what

    def _link(self) -> None:
        for ssa, value in self._values.items():
            value.uses = [(self._nodes[use.operation], use.index) for use in ssa.uses]
            if value.holder is None:
                stored_on = holder(ssa)
                value.holder = None if stored_on is None else self._values[stored_on].holder
        for op, node in self._nodes.items():
            node.operands = [self._values[operand] for operand in op.operands]
            kind = node.kind
            if kind is NodeKind.OPAQUE or kind is NodeKind.BARRIER:
                self._link_rule(op, node)
            elif kind is NodeKind.EDGE:
                self._link_edge(op, node)
            elif kind is NodeKind.CALL:
                self._link_call(op, node)
            if kind is NodeKind.TERMINATOR or type(op) in DATA_FLOW_OPS:
                self._link_edges_fed(op, node)
        self._link_main_results()

    def _link_edges_fed(self, op: Operation, node: Node) -> None:
        edges = ((index, edge_of_source(Source(op, index))) for index in range(len(op.operands)))
        node.feeds = {index: self._nodes[edge] for index, edge in edges if edge is not None}

    def _link_rule(self, op: Operation, node: Node) -> None:
        if isinstance(op, PropagationBarrierOp):
            rule = identity_rule(static_shape(op.input.type) or ())
            node.direction = Direction(op.allowed_direction.value.data)
        else:
            found = self._rule_of(op)
            if found is None:
                return
            rule, node.kind = found, NodeKind.RULE
        node.rule = self.graph.rules.number(rule)
        node.tensors = tuple(value.holder for value in (*node.operands, *node.results))
        node.is_elementwise = is_elementwise(op)
        node.pass_through = pass_through(op)

    def _link_edge(self, op: Operation, node: Node) -> None:
        if isinstance(op, DataFlowEdgeOp):
            owner = op.input
            sources = [source.value for source in sources_of(owner)]
            node.linked_values = tuple(self._values[target] for target in linked_targets_of(owner))
            node.boundary = _boundary(owner)
        else:
            assert isinstance(op, FuncDataFlowEdgeOp)
            sources = self._sources_across_calls(op.input)
        shape = static_shape(op.results[0].type)
        if shape is None or not sources:
            node.kind = NodeKind.OPAQUE
            return
        node.rule = self.graph.rules.number(identity_rule(shape, operands=len(sources)))
        node.tensors = (*(self._values[source].holder for source in sources), node.results[0].holder)
        node.pass_through = PassThrough.BOTH

    def _sources_across_calls(self, owner: SSAValue) -> list[SSAValue]:
        """What flows into a function's argument, or into the result of a call."""
        index = index_of(owner)
        op = op_of(owner)
        if isinstance(op, FuncOp):
            return [call.operands[index] for call in calls_of(self._module, op)]
        assert isinstance(op, CallOp)
        callee = self._callee(op)
        returned = None if callee is None else callee.body.block.last_op
        return [] if returned is None else [returned.operands[index]]

    def _link_call(self, op: Operation, node: Node) -> None:
        assert isinstance(op, CallOp)
        callee = self._callee(op)
        self.graph.callees[node] = [] if callee is None else [self._values[argument] for argument in callee.args]
        terminator = None if callee is None or not callee.body.blocks else callee.body.block.last_op
        if terminator is not None:
            self.graph.callers.setdefault(self._nodes[terminator], []).append(node)

    def _callee(self, call: CallOp) -> FuncOp | None:
        name = call.callee.root_reference.data
        return next((op for op in self._module.ops if isinstance(op, FuncOp) and op.sym_name.data == name), None)

    def _link_main_results(self) -> None:
        func = main_function(self._module)
        terminator = func.body.block.last_op if func.body.blocks else None
        if terminator is None:
            return
        for index, operand in enumerate(terminator.operands):
            shape = static_shape(operand.type)
            if shape is not None:
                rule = self.graph.rules.number(identity_rule(shape))
                result = FunctionResult(self._values[operand], self._function_results[func, index], rule)
                self.graph.main_results.append(result)


def _is_changed(value: Value) -> bool:
    return value.holder is not None and value.holder.is_changed


def _is_plain_result(ssa: SSAValue) -> bool:
    return isinstance(ssa, OpResult) and type(ssa.op) not in KEEPERS


def is_scalar_tensor(value_type: Attribute) -> bool:
    """Whether values of the type are tensors of rank 0."""
    return static_shape(value_type) == ()


# Ops that keep the shardings of their results in a way of their own.
KEEPERS = frozenset[type[Operation]](
    (
        *DATA_FLOW_OPS,
        *(op for op in SDY.operations if issubclass(op, CollectiveOp)),
        DataFlowEdgeOp,
        ReshardOp,
        ShardingConstraintOp,
    )
)
_KINDS: dict[type[Operation], NodeKind] = {
    DataFlowEdgeOp: NodeKind.EDGE,
    FuncDataFlowEdgeOp: NodeKind.EDGE,
    PropagationBarrierOp: NodeKind.BARRIER,
    CallOp: NodeKind.CALL,
    FuncReturnOp: NodeKind.RETURN,
}


def _kind(op: Operation) -> NodeKind:
    """The kind as far as the class of the op tells; an opaque op with a rule is told apart later."""
    kind = _KINDS.get(type(op))
    if kind is None:
        is_terminator = op.has_trait(IsTerminator, value_if_unregistered=False)
        kind = _KINDS[type(op)] = NodeKind.TERMINATOR if is_terminator else NodeKind.OPAQUE
    return kind


def _boundary(owner: SSAValue) -> Boundary | None:
    op = op_of(owner)
    if not isinstance(op, ManualComputationOp):
        return None
    is_result = not isinstance(owner.owner, Block)
    shardings = op.out_shardings.data if is_result else op.in_shardings.data
    return Boundary(op.manual_axes.data, shardings[index_of(owner)], is_result)
