"""A module flattened to a graph, and the way back: shardings and erased ops are written to the module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.shardings import SHARDING, STORED_ELSEWHERE, set_function_result_sharding, set_sharding
from sdy.passes.rewriting.insertion import erase
from sdy.propagation.graph import MISSING, Graph, Node, NodeKind, Value


class FlatModule:
    """The graph of a module, with the op of each node and the value that stores the sharding of each holder.

    `ops` are by node index, `values` by identity of the SSA value. `stored_on` has the holders whose shardings are not
    in the attribute `sdy.sharding` of the defining op, and `function_results` those of function result attributes.
    """

    def __init__(
        self,
        graph: Graph,
        ops: Sequence[Operation],
        values: Mapping[int, Value],
        stored_on: Mapping[Value, SSAValue],
        function_results: Mapping[tuple[FuncOp, int], Value],
    ) -> None:
        self.graph = graph
        self._ops = ops
        self._values = values
        self._stored_on = stored_on
        self._function_results = function_results

    def value(self, ssa: SSAValue) -> Value:
        """Return the graph value of `ssa`."""
        return self._values[id(ssa)]

    def of_copy(self, ops: Mapping[Operation, Operation], values: Mapping[SSAValue, SSAValue]) -> FlatModule:
        """Return the same graph for a copy of the module; `ops` and `values` map those of the module to the copy's."""
        return FlatModule(
            self.graph,
            [ops[op] for op in self._ops],
            {id(copy): self._values[id(ssa)] for ssa, copy in values.items() if id(ssa) in self._values},
            {holder: values[ssa] for holder, ssa in self._stored_on.items()},
            {(cast(FuncOp, ops[func]), index): value for (func, index), value in self._function_results.items()},
        )

    def operations(self) -> dict[Node, Operation]:
        """Return the op of each node."""
        return dict(zip(self.graph.nodes, self._ops, strict=True))

    def stored_on(self) -> dict[Value, SSAValue]:
        """Return the value that stores the sharding of each holder; function results are left out."""
        pairs = ((op.results, node.results) for op, node in zip(self._ops, self.graph.nodes, strict=True))
        plain = {value: ssa for pair in pairs for ssa, value in zip(*pair, strict=True) if value.holder is value}
        return {**plain, **self._stored_on}

    def rules(self) -> Iterator[tuple[Operation, int]]:
        """Yield the ops that propagate along a rule, with the number of the rule; erased ops are left out."""
        for op, node in zip(self._ops, self.graph.nodes, strict=True):
            if node.kind is NodeKind.RULE and not node.is_erased:
                yield op, node.rule

    def erased(self) -> list[Operation]:
        """Return the ops whose nodes were erased from the graph."""
        return [self._ops[node.index] for node in self.graph.erased]

    def write_back(self) -> None:
        """Write the changed shardings to the module and erase the erased ops. May be called again."""
        for (func, index), value in self._function_results.items():
            sharding = self.graph.sharding(value)
            if value.is_changed and sharding is not None:
                set_function_result_sharding(func, index, sharding)
        self._write_lists()
        for value, ssa in self._stored_on.items():
            if value.is_changed:
                sharding = self.graph.sharding(value)
                if sharding is not None:
                    set_sharding(ssa, sharding)
        for node in self.graph.erased:
            if node.parent is None or not node.parent.is_erased:
                op = self._ops[node.index]
                if op.parent is not None:
                    erase(op)

    def _write_lists(self) -> None:
        """Write the `sdy.sharding` attributes of ops; equal lists share one attribute."""
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
        """Return the attribute with the shardings of all results of a node that has any."""
        numbers = tuple([MISSING if result.holder is None else result.holder.sharding for result in node.results])
        attr = known.get(numbers)
        if attr is None:
            shardings = tuple(self.graph.shardings.value(number) for number in numbers)
            attr = known[numbers] = TensorShardingPerValueAttr(shardings)
        return attr
