"""Describes the values, ops and steps of a traced propagation in terms of the program that the user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.dialects.data_flow import index_of, op_of
from sdy.dialects.ir.func_attrs import shown_result_name
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.shardings import sharding_of
from sdy.grammar.write import write_sharding
from sdy.model.rule import FactorIndex
from sdy.model.sharding import TensorSharding
from sdy.passes.manager.traced_propagation import TracedPropagation
from sdy.propagation.graph import Node, Value
from sdy.propagation.trace import Arrival, PathLink, Site, holders_of
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.value_names import ValueNames, line_of


class TraceDescriptions:
    """Descriptions of the values, ops and steps of a traced propagation."""

    def __init__(
        self,
        traced: TracedPropagation,
        names: ValueNames,
        counterparts: Counterparts,
        source_lines: Mapping[int, str],
    ) -> None:
        self._traced = traced
        self._names = names
        self._counterparts = counterparts
        self._source_lines = source_lines
        self._ops = traced.flat.operations()
        self._stored_on = traced.flat.stored_on()
        self._results = {each.holder: index for index, each in enumerate(traced.flat.graph.main_results)}
        self._main = main_function(traced.module)
        # By the holder that an axis started from, or by what a step is described with: its op, source, target and
        # holder. Many paths share steps, and a step often propagates several axes from one tensor to another.
        self._steps: dict[Value | tuple[Site, int, int, Value], tuple[str, str]] = {}
        self._values: dict[Value | None, str] = {}

    def value(self, holder: Value | None) -> str:
        """Return the name of the value whose sharding is stored in `holder`."""
        known = self._values.get(holder)
        if known is not None:
            return known
        ssa = None if holder is None else self._stored_on.get(holder)
        written = None if ssa is None else self._counterparts.written(ssa)
        if holder in self._results:
            name = shown_result_name(self._main, self._results[holder])
        elif written is not None:
            name = self._names[written]
        else:
            op = None if ssa is None else op_of(ssa)
            name = "an unnamed value" if op is None else f"the result of an inserted {op.name}"
        self._values[holder] = name
        return name

    def site(self, site: Site) -> str:
        """Return the op of a propagation step as it starts in the text, for example `%0 = stablehlo.add`."""
        if not isinstance(site, Node):
            return f"return of @{self._main.sym_name.data}"
        op = self._ops[site]
        if isinstance(op, DataFlowEdgeOp):
            around = op_of(op.input)
            if isinstance(around, NamedComputationOp):
                return f"call of @{around.computation_name.data}"
            return f"data flow of {'an op' if around is None else around.name}"
        results = ", ".join(self.value(result.holder) for result in site.results)
        return f"{results} = {op.name}" if results else op.name

    def line(self, site: Site) -> str:
        """Return the line of the op of a propagation step; see `line_of`."""
        return self.line_of(self._op(site))

    def line_number(self, site: Site) -> int | None:
        """Return the line number of the op of a propagation step, or None if it was not read from text."""
        return line_of(self._op(site))

    def _op(self, site: Site) -> Operation:
        return self._ops[site] if isinstance(site, Node) else self._main

    def line_of(self, op: Operation) -> str:
        """Return the line of an op, with the line of the source program if known: `line 7 (train.py:12)`."""
        line = line_of(op)
        if line is None:
            return "unknown line"
        source = self._source_lines.get(line)
        return f"line {line}{f' ({source})' if source else ''}"

    def tensor(self, site: Site, index: int) -> str:
        """Return which operand or result of an op a tensor is, and its name: `operand 0 (%a)`."""
        name = self.value(holders_of(site)[index])
        if not isinstance(site, Node):
            return f"the returned {name}" if index == 0 else name
        count = len(self._traced.flat.graph.rules.value(site.rule).operands)
        if isinstance(self._ops[site], DataFlowEdgeOp):
            return f"source {index} ({name})" if index < count else name
        if index < count:
            return f"operand {index} ({name})"
        return f"result {index - count} ({name})" if len(site.results) > 1 else f"the result ({name})"

    def dim(self, site: Site, tensor: int, factor: FactorIndex) -> str:
        """Return the dim of a tensor that is mapped to a factor."""
        mapping = self._traced.flat.graph.rules.value(site.rule).tensors[tensor]
        dims = [index for index, factors in enumerate(mapping) if factor in factors]
        return f"dim {dims[0]}" if dims else "no dim"

    def step(self, link: PathLink) -> tuple[str, str]:
        """Return the line and the description of the last step of a path, or of the annotation that it starts with."""
        arrival = link.arrival
        if arrival is None:
            key = link.root
        else:
            key = arrival.step.site, arrival.move.source, arrival.move.target, arrival.holder
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self.root(link.root) if arrival is None else _described(self, arrival)
        return known

    def root(self, holder: Value) -> tuple[str, str]:
        """Return the line on which a chain of propagation steps begins, and the annotation on that line."""
        if holder in self._results:
            sharding = self._initial_text(holder)
            return self.line_of(self._main), f"{self.value(holder)}: annotated {sharding}"
        ssa = self._stored_on[holder]
        op = op_of(ssa)
        line = "" if op is None else self.line_of(op)
        return line, f"{self._named(ssa)}: {self._initial_sharding(ssa, holder)}"

    def _named(self, ssa: SSAValue) -> str:
        name, op = self.value(self._traced.flat.value(ssa).holder), op_of(ssa)
        if isinstance(ssa, BlockArgument) or isinstance(op, DataFlowEdgeOp) or op is None:
            return name
        return f"{name} = {op.name}"

    def _initial_sharding(self, ssa: SSAValue, holder: Value) -> str:
        """Describe the sharding that the value had before propagation, and its source."""
        text = self._initial_text(holder)
        op = op_of(ssa)
        if isinstance(op, DataFlowEdgeOp) and isinstance(op_of(op.input), ManualComputationOp):
            side = "in" if isinstance(op.input, BlockArgument) else "out"
            return f"{side}_shardings[{index_of(op.input)}] of the manual computation, {text} without manual axes"
        if isinstance(op, ShardingConstraintOp):
            return f"constrained to {text}"
        written = self._counterparts.written(ssa)
        if written is not None and sharding_of(written) is not None:
            return f"annotated {text}"
        user = self.constraining_user(ssa, self._traced.initial.get(holder))
        if user is not None:
            return f"inherits {text} from {user.name} on {self.line_of(user)}"
        value = self._traced.flat.value(ssa)
        return f"inherits {text} from its sharding group" if value.group else f"starts with {text}"

    def constraining_user(self, ssa: SSAValue, sharding: TensorSharding | None) -> Operation | None:
        """Return the constraint or manual computation that gave a value this initial sharding; None if none did."""
        for use in ssa.uses:
            user = use.operation
            if isinstance(user, ShardingConstraintOp) and user.sharding.data == sharding:
                return user
            if isinstance(user, ManualComputationOp) and user.in_shardings.data[use.index] == sharding:
                return user
        return None

    def _initial_text(self, holder: Value) -> str:
        sharding = self._traced.initial.get(holder)
        return "no sharding" if sharding is None else dims_text(sharding)


def _described(descriptions: TraceDescriptions, arrival: Arrival) -> tuple[str, str]:
    site, move = arrival.step.site, arrival.move
    source, target = descriptions.tensor(site, move.source), descriptions.tensor(site, move.target)
    text = f"{descriptions.site(site)}: from {source} to {target}"
    if arrival.holder is not arrival.target:
        text += f", and to {descriptions.value(arrival.holder)} of its sharding group"
    return descriptions.line(site), text


def dims_text(sharding: TensorSharding) -> str:
    """Return the text of a sharding without its mesh."""
    named = replace(sharding, mesh="mesh")  # an inlined mesh has commas
    return write_sharding(named).partition(", ")[2].removesuffix(">")
