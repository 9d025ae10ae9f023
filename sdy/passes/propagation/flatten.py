"""From a module to the graph that the engine propagates over, and the result back.

Each place that can hold a sharding becomes a holder, numbered once; the module is not looked at again until the
shardings that changed are written. Source: docs/spec/02, 1.5 to 1.10, 2.4 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.dialects.data_flow import EdgeSource, edge_of_source, has_data_flow_edges, index_of, op_of, sources_of
from sdy.dialects.data_flow import other_targets_of as linked_targets_of
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import calls_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp, PropagationBarrierOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import (
    SHARDING,
    STORED_ELSEWHERE,
    function_result_sharding,
    result_shardings,
    set_function_result_sharding,
    set_sharding,
    sharding_of,
    storing_value,
)
from sdy.model.rule_builder import identity_rule
from sdy.passes.propagation.op_facts import FactSource, OpFacts, RuleOf
from sdy.passes.rewriting.insertion import erase
from sdy.propagation.graph import (
    MISSING,
    Direction,
    FunctionResult,
    Graph,
    ManualBoundary,
    Node,
    NodeKind,
    PassThrough,
    Value,
)


class FlatModule:
    """A module and its graph, and what belongs to what. Ops and values are looked up by identity: there are many."""

    def __init__(self, module: ModuleOp, rule_of: RuleOf) -> None:
        self.graph = Graph(meshes_of(module))
        self._module = module
        self._facts = FactSource(rule_of, self.graph.rules)
        self._ops: list[Operation] = []  # by index of the node
        self._nodes: dict[int, Node] = {}  # by identity of the ops in `_linked`
        self._values: dict[int, Value] = {}
        self._shared: list[tuple[Value, SSAValue]] = []  # with several uses
        self._without_holders: list[Node] = []  # with tensors that have none, or not yet
        self._borrowers: list[tuple[Value, SSAValue]] = []  # and on which others their shardings are stored
        self._unlinked: list[tuple[Operation, Node]] = []  # with operands that were not there yet
        self._linked: list[tuple[Operation, Node]] = []  # to more than their operands
        self._stored_on: dict[Value, SSAValue] = {}  # without results whose shardings are in the op's attribute
        self._function_results: dict[tuple[FuncOp, int], Value] = {}
        for op in module.ops:
            self._add(op, None)
        self._link()

    def value(self, ssa: SSAValue) -> Value:
        """The value of the graph that stands for `ssa`."""
        return self._values[id(ssa)]

    def operations(self) -> dict[Node, Operation]:
        """The op that each node stands for."""
        return dict(zip(self.graph.nodes, self._ops, strict=True))

    def stored_on(self) -> dict[Value, SSAValue]:
        """The value on which the sharding of each holder is stored; attributes of function results are not there."""
        pairs = ((op.results, node.results) for op, node in zip(self._ops, self.graph.nodes, strict=True))
        plain = {value: ssa for pair in pairs for ssa, value in zip(*pair, strict=True) if value.holder is value}
        return plain | self._stored_on

    def rules(self) -> Iterator[tuple[Operation, int]]:
        """The ops that propagate along a rule, and the number of that rule; erased ones left out."""
        for op, node in zip(self._ops, self.graph.nodes, strict=True):
            if node.kind is NodeKind.RULE and not node.is_erased:
                yield op, node.rule

    def erased(self) -> list[Operation]:
        """The ops that were erased from the graph."""
        return [self._ops[node.index] for node in self.graph.erased]

    def write_back(self) -> None:
        """Write the shardings that changed, then erase the ops that were erased from the graph. May run again."""
        for (func, index), holder_ in self._function_results.items():
            sharding = self.graph.sharding(holder_)
            if holder_.is_changed and sharding is not None:
                set_function_result_sharding(func, index, sharding)
        self._write_lists()
        for holder_, ssa in self._stored_on.items():
            if holder_.is_changed:
                sharding = self.graph.sharding(holder_)
                if sharding is not None:
                    set_sharding(ssa, sharding)
        for node in self.graph.erased:
            if node.parent is None or not node.parent.is_erased:
                op = self._ops[node.index]
                if op.parent is not None:
                    erase(op)

    def _write_lists(self) -> None:
        """The attributes `sdy.sharding` of ops, equal ones shared."""
        lists: dict[tuple[int, ...], TensorShardingPerValueAttr] = {}
        for op, node in zip(self._ops, self.graph.nodes, strict=True):
            for result in node.results:
                if result.holder is not None and result.holder.is_changed:
                    if type(op) not in STORED_ELSEWHERE:
                        op.attributes[SHARDING] = self._list_of(node, lists)
                    break

    def _list_of(
        self, node: Node, known: dict[tuple[int, ...], TensorShardingPerValueAttr]
    ) -> TensorShardingPerValueAttr:
        """The shardings of the results of an op that has shardings: it has them all."""
        numbers = tuple([MISSING if result.holder is None else result.holder.sharding for result in node.results])
        attr = known.get(numbers)
        if attr is None:
            shardings = tuple(self.graph.shardings.value(number) for number in numbers)
            attr = known[numbers] = TensorShardingPerValueAttr(shardings)
        return attr

    # Nodes, values and holders, in program order

    def _add(self, op: Operation, parent: Node | None) -> Node:
        facts = self._facts(op)
        traits = facts.rule, facts.is_elementwise, facts.pass_through, facts.is_erasable
        node = Node(len(self._ops), facts.kind, parent, *traits)
        self._ops.append(op)
        self.graph.nodes.append(node)
        if facts.has_one_result and SHARDING not in op.attributes:  # nearly always
            (result,) = op.results
            value = self._values[id(result)] = Value(node, facts.are_scalars[0], facts.ranks[0])
            value.holder = value
            self.graph.holders.append(value)
            node.results = (value,)
        elif facts.ranks:
            node.results = self._results(op, node, facts)
        self._link_operands(op, node)
        if facts.is_linked:
            self._linked.append((op, node))
            self._nodes[id(op)] = node
        if op.regions:
            if isinstance(op, FuncOp):
                self._add_function_results(op)
            self._add_regions(op, node)
        return node

    def _add_regions(self, op: Operation, node: Node) -> None:
        children: list[Node] = []
        for block in blocks_of(op):
            arguments = [self._new_value(argument, node) for argument in block.args]
            for argument in arguments:
                argument.is_block_argument = True
            if type(op) is NamedComputationOp:
                _share_a_list(arguments)
            children += [self._add(inner, node) for inner in ops_in(block)]
        node.children = children

    def _results(self, op: Operation, node: Node, facts: OpFacts) -> Sequence[Value]:
        """The results of an op. Where their shardings are entries of one list, they come to have one together."""
        if facts.keeps_shardings:
            values = [self._new_value(result, node) for result in op.results]
            if has_data_flow_edges(op):
                _share_a_list(values)
            return values
        shardings = result_shardings(op) if SHARDING in op.attributes else None
        values = list[Value]()
        for index, result in enumerate(op.results):
            value = self._values[id(result)] = Value(node, facts.are_scalars[index])
            values.append(self.graph.add_holder(value, shardings[index] if shardings else None, facts.ranks[index]))
        _share_a_list(values)
        return values

    def _new_value(self, ssa: SSAValue, owner: Node) -> Value:
        """A value whose sharding may be stored anywhere."""
        value = self._values[id(ssa)] = Value(owner, static_shape(ssa.type) == ())
        stored_on = storing_value(ssa)
        if stored_on is ssa:
            self._stored_on[self.graph.add_holder(value, sharding_of(ssa), rank_of_type(ssa.type))] = ssa
        elif stored_on is not None:
            self._borrowers.append((value, stored_on))
        return value

    def _add_function_results(self, func: FuncOp) -> None:
        for index, value_type in enumerate(func.function_type.outputs):
            sharding = function_result_sharding(func, index)
            self._function_results[func, index] = self.graph.add_holder(Value(None), sharding, rank_of_type(value_type))

    # What refers to what

    def _link(self) -> None:
        for op, node in self._unlinked:
            self._link_operands(op, node)
        for value, stored_on in self._borrowers:
            value.holder = self._values[id(stored_on)].holder
        for value, ssa in self._shared:  # in the order of the use list, which is not that of the program
            uses = {(id(self._ops[user.index]), position): (user, position) for user, position in value.uses}
            value.uses = [uses[id(use.operation), use.index] for use in ssa.uses]
        for node in self._without_holders:
            node.tensors = tuple(map(_holder_of, (*node.operands, *node.results)))
        for value, _ in self._borrowers:
            if value.holder is not None:
                value.holder.readers = [*value.holder.readers, *(user for user, _ in value.uses)]
        for op, node in self._linked:
            self._link_further(op, node)
        self._link_main_results()

    def _link_operands(self, op: Operation, node: Node) -> None:
        """Enter what an op reads; it waits where that is defined further down, as in regions of several blocks."""
        operands = operands_of(op)
        try:
            read = tuple(map(self._values.__getitem__, map(id, operands)))
        except KeyError:
            self._unlinked.append((op, node))
            return
        node.operands = read
        for position, value in enumerate(read):
            uses = value.uses
            if not uses:
                value.uses = ((node, position),)
            elif isinstance(uses, list):
                uses.append((node, position))
            else:
                value.uses = [*uses, (node, position)]
                self._shared.append((value, operands[position]))
        if node.kind is NodeKind.RULE:
            node.tensors = (*map(_holder_of, read), *map(_holder_of, node.results))
            if None in node.tensors:
                self._without_holders.append(node)

    def _link_further(self, op: Operation, node: Node) -> None:
        if isinstance(op, PropagationBarrierOp):
            node.tensors = (node.operands[0].holder, node.results[0].holder)
            node.direction = Direction(op.allowed_direction.value.data)
        elif node.kind is NodeKind.EDGE:
            self._link_edge(op, node)
        elif node.kind is NodeKind.CALL:
            self._link_call(op, node)
        elif has_data_flow_edges(op if node.kind is not NodeKind.TERMINATOR else op.parent_op()):
            edges = ((index, edge_of_source(EdgeSource(op, index))) for index in range(len(op.operands)))
            node.feeds = {index: self._nodes[id(edge)] for index, edge in edges if edge is not None}

    def _link_edge(self, op: Operation, node: Node) -> None:
        if isinstance(op, DataFlowEdgeOp):
            owner = op.input
            sources = [source.value for source in sources_of(owner)]
            node.linked_values = tuple(self._values[id(target)] for target in linked_targets_of(owner))
            node.boundary = _boundary(owner)
        else:
            assert isinstance(op, FuncDataFlowEdgeOp)
            sources = self._sources_across_calls(op.input)
        shape = static_shape(op.results[0].type)
        if shape is None or not sources:
            node.kind = NodeKind.OPAQUE
            return
        node.rule = self.graph.rules.number(identity_rule(shape, operands=len(sources)))
        node.tensors = (*(self._values[id(source)].holder for source in sources), node.results[0].holder)
        for stored in node.tensors:
            if stored is not None and stored.owner is not node:
                stored.readers = [*stored.readers, node]
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
        self.graph.callees[node] = [] if callee is None else [self._values[id(argument)] for argument in callee.args]
        terminator = None if callee is None or not callee.body.blocks else callee.body.block.last_op
        if terminator is not None:
            self.graph.callers.setdefault(self._nodes[id(terminator)], []).append(node)

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
                result = FunctionResult(self._values[id(operand)], self._function_results[func, index], rule)
                self.graph.main_results.append(result)


_holder_of: Callable[[Value], Value | None] = attrgetter("holder")


def _share_a_list(values: Sequence[Value]) -> None:
    """Let those of the values that hold their shardings come to have one together."""
    holders = [value.holder for value in values if value.holder is not None]
    if len(holders) > 1:
        for stored in holders:
            stored.siblings = holders


def _boundary(owner: SSAValue) -> ManualBoundary | None:
    op = op_of(owner)
    if not isinstance(op, ManualComputationOp):
        return None
    is_result = not isinstance(owner.owner, Block)
    shardings = op.out_shardings.data if is_result else op.in_shardings.data
    return ManualBoundary(op.manual_axes.data, shardings[index_of(owner)], is_result)
