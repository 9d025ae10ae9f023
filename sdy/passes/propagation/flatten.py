"""Flattening of a module to the graph that the engine propagates over, and the way back.

Every value that stores a sharding becomes a holder, numbered once. The module is not read again until the changed
shardings are written and erased ops removed. The properties of ops are computed once for all ops of one class with
equal types and properties. Source: docs/spec/02, 1.1, 1.5 to 1.10, 2.4, 5.2, 5.3 and 8.
"""

# ruff: noqa: PERF401 (loops are faster here, because most ops have few operands, results and properties)

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import cast

from xdsl.dialects.builtin import ModuleOp, ShapedType, TupleType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.data_flow import (
    DATA_FLOW_OPS,
    EdgeSource,
    edge_of_source,
    has_data_flow_edges,
    index_of,
    op_of,
    sources_of,
)
from sdy.dialects.data_flow import other_targets_of as linked_targets_of
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import calls_by_callee, functions_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ConstantOp, DataFlowEdgeOp, FuncDataFlowEdgeOp, PropagationBarrierOp, ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp, ShardedBodyOp
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
from sdy.dialects.stablehlo.control import ReturnOp as StablehloReturnOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.dialects.stablehlo.shape import IotaOp
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.passes.rewriting.call_graph import callee_name
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_traits import is_elementwise, is_erasable, pass_through
from sdy.propagation.graph import (
    MISSING,
    NO_RULE,
    Direction,
    FunctionResult,
    Graph,
    ManualBoundary,
    Node,
    NodeKind,
    Numbering,
    PassThrough,
    Value,
)
from sdy.rules.all import BY_TYPE, RULE_ATTRIBUTE


@dataclass(frozen=True, eq=False)
class FlatModule:
    """The graph of a module, with the op of each node and the value that stores the sharding of each holder.

    `ops` are by node index, `values` by identity of the SSA value. `stored` has the holders whose shardings are not
    in the attribute `sdy.sharding` of the defining op, and `function_results` those of function result attributes.
    """

    graph: Graph
    ops: Sequence[Operation]
    values: Mapping[int, Value]
    stored: Mapping[Value, SSAValue]
    function_results: Mapping[tuple[FuncOp, int], Value]

    def value(self, ssa: SSAValue) -> Value:
        """Return the graph value of `ssa`."""
        return self.values[id(ssa)]

    def of_copy(self, ops: Mapping[Operation, Operation], values: Mapping[SSAValue, SSAValue]) -> FlatModule:
        """Return the same graph for a copy of the module; `ops` and `values` map those of the module to the copy's."""
        return FlatModule(
            self.graph,
            [ops[op] for op in self.ops],
            {id(copy): self.values[id(ssa)] for ssa, copy in values.items() if id(ssa) in self.values},
            {holder: values[ssa] for holder, ssa in self.stored.items()},
            {(cast(FuncOp, ops[func]), index): value for (func, index), value in self.function_results.items()},
        )

    def operations(self) -> dict[Node, Operation]:
        """Return the op of each node."""
        return dict(zip(self.graph.nodes, self.ops, strict=True))

    def stored_on(self) -> dict[Value, SSAValue]:
        """Return the value that stores the sharding of each holder; function results are left out."""
        pairs = ((op.results, node.results) for op, node in zip(self.ops, self.graph.nodes, strict=True))
        plain = {value: ssa for pair in pairs for ssa, value in zip(*pair, strict=True) if value.holder is value}
        return {**plain, **self.stored}

    def rules(self) -> Iterator[tuple[Operation, int]]:
        """Yield the ops that propagate along a rule, with the number of the rule; erased ops are left out."""
        for op, node in zip(self.ops, self.graph.nodes, strict=True):
            if node.kind is NodeKind.RULE and not node.is_erased:
                yield op, node.rule

    def erased(self) -> list[Operation]:
        """Return the ops whose nodes were erased from the graph."""
        return [self.ops[node.index] for node in self.graph.erased]

    def write_back(self) -> None:
        """Write the changed shardings to the module and erase the erased ops. May be called again."""
        for (func, index), value in self.function_results.items():
            sharding = self.graph.sharding(value)
            if value.is_changed and sharding is not None:
                set_function_result_sharding(func, index, sharding)
        self._write_lists()
        for value, ssa in self.stored.items():
            if value.is_changed:
                sharding = self.graph.sharding(value)
                if sharding is not None:
                    set_sharding(ssa, sharding)
        for node in self.graph.erased:
            if node.parent is None or not node.parent.is_erased:
                op = self.ops[node.index]
                if op.parent is not None:
                    erase(op)

    def _write_lists(self) -> None:
        """Write the `sdy.sharding` attributes of ops; equal lists share one attribute."""
        lists: dict[tuple[int, ...], TensorShardingPerValueAttr] = {}
        for op, node in zip(self.ops, self.graph.nodes, strict=True):
            for result in node.results:
                if result.holder is not None and result.holder.is_changed:
                    if type(op) not in STORED_ELSEWHERE:
                        op.attributes[SHARDING] = self._list_of(node, lists)
                    break

    def _list_of(
        self, node: Node, known: dict[tuple[int, ...], TensorShardingPerValueAttr]
    ) -> TensorShardingPerValueAttr:
        """Return the attribute with the shardings of all results of a node that has any."""
        numbers = tuple([MISSING if result.holder is None else result.holder.sharding for result in node.results])
        attr = known.get(numbers)
        if attr is None:
            shardings = tuple(self.graph.shardings.value(number) for number in numbers)
            attr = known[numbers] = TensorShardingPerValueAttr(shardings)
        return attr


RuleOf = Callable[[Operation], OpShardingRule | None]
FactsKey = tuple[type[Operation] | int, ...]


@dataclass(frozen=True, slots=True)
class OpFacts:
    """The properties of one op. `ranks` are those of its results, 0 if the type has no static shape.

    `keeps_shardings` is set if the shardings of the results are not simply in the attribute `sdy.sharding`, and
    `is_linked` if the op is linked to more nodes than those that define its operands.
    """

    kind: NodeKind
    rule: int
    is_erasable: bool
    is_elementwise: bool
    pass_through: PassThrough
    ranks: tuple[int, ...]
    are_scalars: tuple[bool, ...]  # per result
    keeps_shardings: bool
    has_one_result: bool  # whose sharding is in the attribute `sdy.sharding`
    is_linked: bool


class FactSource:
    """A cache of the facts of ops. Rules get their numbers in `rules`."""

    def __init__(self, rule_of: RuleOf, rules: Numbering[OpShardingRule]) -> None:
        self._rule_of = rule_of
        self._rules = rules
        # By class and identities. The op is kept so that its types and properties stay alive, and their ids unique.
        self._known: dict[FactsKey, tuple[OpFacts, Operation]] = {}

    def __call__(self, op: Operation) -> OpFacts:
        """Return the facts of `op`. Raises: SdyError SDY-T103 if a result has no static shape."""
        op_class = type(op)
        is_by_type = _IS_BY_TYPE.get(op_class)
        if is_by_type is None or RULE_ATTRIBUTE in op.attributes:
            return self._compute(op)
        parts: list[type[Operation] | int] = [op_class]
        for result in op.results:
            parts.append(id(type_of(result)))
        if is_by_type:
            for operand in operands_of(op):
                parts.append(id(type_of(operand)))
            for attr in op.properties.values():
                parts.append(id(attr))
        key = tuple(parts)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._compute(op), op
        return known[0]

    def _compute(self, op: Operation) -> OpFacts:
        shapes = [_shape_of_result(op, index) for index in range(len(op.results))]
        kind, rule = self._kind_and_rule(op)
        keeps_shardings = type(op) in STORED_ELSEWHERE
        return OpFacts(
            kind,
            NO_RULE if rule is None else self._rules.number(rule),
            is_erasable(op),
            is_elementwise(op),
            pass_through(op),
            tuple(len(shape or ()) for shape in shapes),
            tuple(shape == () for shape in shapes),
            keeps_shardings,
            len(shapes) == 1 and not keeps_shardings,
            type(op) in DATA_FLOW_OPS or kind not in (NodeKind.RULE, NodeKind.OPAQUE),
        )

    def _kind_and_rule(self, op: Operation) -> tuple[NodeKind, OpShardingRule | None]:
        kind = _KINDS.get(type(op))
        if kind is None:
            is_terminator = op.has_trait(IsTerminator, value_if_unregistered=False)
            kind = _KINDS[type(op)] = NodeKind.TERMINATOR if is_terminator else NodeKind.OPAQUE
        if isinstance(op, PropagationBarrierOp):
            return kind, identity_rule(static_shape(op.input.type) or ())
        if kind is not NodeKind.OPAQUE:
            return kind, None
        rule = self._rule_of(op)
        return (kind if rule is None else NodeKind.RULE), rule


# Ops whose facts depend on their class, types and properties only (True), or, for ops that never have a rule, on their
# class and result types only (False).
_IS_BY_TYPE: dict[type[Operation], bool] = {
    **dict.fromkeys(BY_TYPE, True),
    ConstantOp: False,
    StablehloConstantOp: False,
    IotaOp: False,
    DataFlowEdgeOp: False,
    FuncDataFlowEdgeOp: False,
    CallOp: False,
    FuncReturnOp: False,
    ReturnOp: False,
    StablehloReturnOp: False,
}
# The kind of an op by its class; other classes are added when they are first seen.
_KINDS: dict[type[Operation], NodeKind] = {
    DataFlowEdgeOp: NodeKind.EDGE,
    FuncDataFlowEdgeOp: NodeKind.EDGE,
    PropagationBarrierOp: NodeKind.BARRIER,
    CallOp: NodeKind.CALL,
    FuncReturnOp: NodeKind.RETURN,
}


def _shape_of_result(op: Operation, index: int) -> tuple[int, ...] | None:
    value_type = op.results[index].type
    shape = static_shape(value_type)
    if shape is None and isinstance(value_type, ShapedType | TupleType):
        hint = "use several values" if isinstance(value_type, TupleType) else "lower the program for concrete sizes"
        message = f"propagation expected tensors of static shape and no tuples, got a result of type {value_type}"
        raise SdyError(Diagnostic("SDY-T103", message, span_of(op), hint=hint))
    return shape


def build_flat_module(module: ModuleOp, rule_of: RuleOf) -> FlatModule:
    """Flatten `module`. Raises: SdyError SDY-T103 if a result has no static shape."""
    return _Flattener(module, rule_of).build()


class _Flattener:
    """Builds the graph of one module in two phases: all nodes and values first, then the links between them.

    Ops and values are looked up by identity, because there are many of them.
    """

    def __init__(self, module: ModuleOp, rule_of: RuleOf) -> None:
        self._module = module
        self._graph = Graph(meshes_of(module))
        self._facts = FactSource(rule_of, self._graph.rules)
        self._functions = functions_of(module)
        self._ops: list[Operation] = []  # by node index
        self._values: dict[int, Value] = {}  # by identity of the SSA value
        self._stored_on: dict[Value, SSAValue] = {}
        self._function_results: dict[tuple[FuncOp, int], Value] = {}
        self._nodes: dict[int, Node] = {}  # by identity of the ops in `_linked`
        self._linked: list[tuple[Operation, Node]] = []  # ops linked to more nodes than their operands
        self._unlinked: list[tuple[Operation, Node]] = []  # ops with operands that are defined further down
        self._shared: list[tuple[Value, SSAValue]] = []  # values with several uses
        self._without_holders: list[Node] = []  # nodes with tensors that have no holder, or none yet
        self._borrowers: list[tuple[Value, SSAValue]] = []  # values whose sharding is stored on another value

    def build(self) -> FlatModule:
        """Build the graph, and return it with the module's side of it."""
        for op in self._module.ops:
            self._add(op, None)
        self._link()
        return FlatModule(self._graph, self._ops, self._values, self._stored_on, self._function_results)

    # Nodes, values and holders, in program order

    def _add(self, op: Operation, parent: Node | None) -> Node:
        facts = self._facts(op)
        traits = facts.rule, facts.is_elementwise, facts.pass_through, facts.is_erasable
        node = Node(len(self._ops), facts.kind, parent, *traits)
        self._ops.append(op)
        self._graph.nodes.append(node)
        if facts.has_one_result and SHARDING not in op.attributes:  # almost always
            (result,) = op.results
            value = self._values[id(result)] = Value(node, facts.are_scalars[0], facts.ranks[0])
            value.holder = value
            self._graph.holders.append(value)
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
            if isinstance(op, ShardedBodyOp):
                _make_siblings(arguments)
            children += [self._add(inner, node) for inner in ops_in(block)]
        node.children = children

    def _results(self, op: Operation, node: Node, facts: OpFacts) -> Sequence[Value]:
        """Return the results of an op. Results whose shardings are entries of one list become siblings."""
        if facts.keeps_shardings:
            values = [self._new_value(result, node) for result in op.results]
            if has_data_flow_edges(op):
                _make_siblings(values)
            return values
        shardings = result_shardings(op) if SHARDING in op.attributes else None
        values = list[Value]()
        for index, result in enumerate(op.results):
            value = self._values[id(result)] = Value(node, facts.are_scalars[index])
            values.append(self._graph.add_holder(value, shardings[index] if shardings else None, facts.ranks[index]))
        _make_siblings(values)
        return values

    def _new_value(self, ssa: SSAValue, owner: Node) -> Value:
        """Return a new value, whose sharding may be stored on another value."""
        value = self._values[id(ssa)] = Value(owner, static_shape(ssa.type) == ())
        stored_on = storing_value(ssa)
        if stored_on is ssa:
            self._stored_on[self._graph.add_holder(value, sharding_of(ssa), rank_of_type(ssa.type))] = ssa
        elif stored_on is not None:
            self._borrowers.append((value, stored_on))
        return value

    def _add_function_results(self, func: FuncOp) -> None:
        for index, value_type in enumerate(func.function_type.outputs):
            sharding = function_result_sharding(func, index)
            self._function_results[func, index] = self._graph.add_holder(
                Value(None), sharding, rank_of_type(value_type)
            )

    # Links between nodes and values

    def _link(self) -> None:
        for op, node in self._unlinked:
            self._link_operands(op, node)
        for value, stored_on in self._borrowers:
            value.holder = self._values[id(stored_on)].holder
        for value, ssa in self._shared:  # uses are sorted as in the use list, which is not in program order
            uses = {(id(self._ops[user.index]), position): (user, position) for user, position in value.uses}
            value.uses = [uses[id(use.operation), use.index] for use in ssa.uses]
        for node in self._without_holders:
            node.tensors = tuple(map(_holder_of, (*node.operands, *node.results)))
        for value, _ in self._borrowers:
            if value.holder is not None:
                value.holder.other_nodes = [*value.holder.other_nodes, *(user for user, _ in value.uses)]
        for op, node in self._linked:
            self._link_further(op, node)
        self._link_main_results()

    def _link_operands(self, op: Operation, node: Node) -> None:
        """Link the operands of an op. If some are not defined yet, as in regions of several blocks, the op is kept for
        later.
        """
        operands = operands_of(op)
        try:
            used = tuple(map(self._values.__getitem__, map(id, operands)))
        except KeyError:
            self._unlinked.append((op, node))
            return
        node.operands = used
        for position, value in enumerate(used):
            uses = value.uses
            if not uses:
                value.uses = ((node, position),)
            elif isinstance(uses, list):
                uses.append((node, position))
            else:
                value.uses = [*uses, (node, position)]
                self._shared.append((value, operands[position]))
        if node.kind is NodeKind.RULE:
            node.tensors = (*map(_holder_of, used), *map(_holder_of, node.results))
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
            if has_data_flow_edges(op_of(owner)):
                sources = [source.value for source in sources_of(owner)]
                node.linked_values = tuple(self._values[id(target)] for target in linked_targets_of(owner))
                node.boundary = _boundary(owner)
            else:
                sources = [owner]  # the value itself, since no other one flows into it
        else:
            assert isinstance(op, FuncDataFlowEdgeOp)
            sources = self._sources_across_calls(op.input)
        shape = static_shape(op.results[0].type)
        if shape is None or not sources:
            node.kind = NodeKind.OPAQUE
            return
        node.rule = self._graph.rules.number(identity_rule(shape, operands=len(sources)))
        node.tensors = (*(self._values[id(source)].holder for source in sources), node.results[0].holder)
        for holder in node.tensors:
            if holder is not None and holder.owner is not node:
                holder.other_nodes = [*holder.other_nodes, node]
        node.pass_through = PassThrough.BOTH

    @cached_property
    def _calls(self) -> dict[str, list[CallOp]]:
        return calls_by_callee(self._module)

    def _sources_across_calls(self, owner: SSAValue) -> list[SSAValue]:
        """Return the values that flow into a function's argument, or into the result of a call; else itself."""
        index = index_of(owner)
        op = op_of(owner)
        if isinstance(op, FuncOp):
            return [call.operands[index] for call in self._calls.get(op.sym_name.data, ())]
        if not isinstance(op, CallOp):
            return [owner]
        callee = self._functions.get(callee_name(op))
        returned = None if callee is None else callee.body.block.last_op
        return [] if returned is None else [returned.operands[index]]

    def _link_call(self, op: Operation, node: Node) -> None:
        assert isinstance(op, CallOp)
        callee = self._functions.get(callee_name(op))
        self._graph.callees[node] = [] if callee is None else [self._values[id(argument)] for argument in callee.args]
        terminator = None if callee is None or not callee.body.blocks else callee.body.block.last_op
        if terminator is not None:
            self._graph.callers.setdefault(self._nodes[id(terminator)], []).append(node)

    def _link_main_results(self) -> None:
        func = main_function(self._module)
        terminator = func.body.block.last_op if func.body.blocks else None
        if terminator is None:
            return
        for index, operand in enumerate(terminator.operands):
            shape = static_shape(operand.type)
            if shape is not None:
                rule = self._graph.rules.number(identity_rule(shape))
                result = FunctionResult(self._values[id(operand)], self._function_results[func, index], rule)
                self._graph.main_results.append(result)


_holder_of: Callable[[Value], Value | None] = attrgetter("holder")


def _make_siblings(values: Sequence[Value]) -> None:
    """Make the holders among the values siblings."""
    holders = [value.holder for value in values if value.holder is not None]
    if len(holders) > 1:
        for holder in holders:
            holder.siblings = holders


def _boundary(owner: SSAValue) -> ManualBoundary | None:
    op = op_of(owner)
    if not isinstance(op, ManualComputationOp):
        return None
    is_result = not isinstance(owner.owner, Block)
    shardings = op.out_shardings.data if is_result else op.in_shardings.data
    return ManualBoundary(op.manual_axes.data, shardings[index_of(owner)], is_result)
