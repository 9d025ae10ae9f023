"""Debug records of the axes that a pass moves, and the attributes that they are written to.

    before  %0 = sdy.sharding_constraint %arg0 <@m, [{"x"}]>
            %1 = stablehlo.add %0, %0
    after   %0 = sdy.sharding_constraint %arg0 <@m, [{"x"}]> {sdy.sharding_origin_name = "constraint_0"}
            %1 = stablehlo.add %0, %0 {sdy.sharding_origins = [{x = "constraint_0"}],
                    sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>}

The axes that come from the value's own annotation have the origin `self`. Source: docs/spec/02, 9.2 to 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from sdy.dialects.data_flow import argument_owners, index_of, op_of, result_owners, sources_of
from sdy.dialects.ir.func_attrs import with_attribute
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import post_order, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import EDGES, ORIGIN_NAME, ORIGINS, PropagationEdgesAttr
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of, storing_value
from sdy.model.axis import AxisRef, contains, order_key
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationEdges, PropagationStep
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import Node, Value
from sdy.propagation.trace import AxisMove, TraceStep, holders_of


def annotation_origins(module: ModuleOp) -> Origins:
    """Return the origins of a module's annotations, by the value that stores the sharding.

    Also name the constraints and manual computations of the module. If two annotate one value, the first one counts.
    """
    origins: Origins = Origins()
    ops = post_order(module)
    for number, op in enumerate(op for op in ops if isinstance(op, ShardingConstraintOp)):
        _record_constraint(origins, op, f"constraint_{number}")
    for number, op in enumerate(op for op in ops if isinstance(op, ManualComputationOp)):
        _record_manual_computation(origins, op, f"mc_{number}")
    for func in module.ops:
        if isinstance(func, FuncOp):
            _record_function(origins, func)
    return origins


def _record_constraint(origins: Origins, op: ShardingConstraintOp, name: str) -> None:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    _annotate(origins, op.result, op.sharding.data, name)
    _annotate(origins, op.input, sharding_of(op.input), name)


def _record_manual_computation(origins: Origins, op: ManualComputationOp, name: str) -> None:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    for index, argument in enumerate(argument_owners(op)):
        origin = f"{name}_input: {index}"
        _annotate(origins, argument, op.in_shardings.data[index], origin)
        for source in sources_of(argument):
            _annotate(origins, source.value, sharding_of(source.value), origin)
    for index, result in enumerate(result_owners(op)):
        _annotate(origins, result, op.out_shardings.data[index], f"{name}_output: {index}")


def _record_function(origins: Origins, func: FuncOp) -> None:
    """Record the annotations of arguments; an annotation of a result counts for the returned value."""
    if not func.body.blocks:
        return
    for index, argument in enumerate(func.args):
        _annotate(origins, argument, argument_sharding(func, index), f"input: {index}")
    terminator = func.body.block.last_op
    for index, returned in enumerate(() if terminator is None else terminator.operands):
        _annotate(origins, returned, function_result_sharding(func, index), f"output: {index}")


def _annotate(origins: Origins, value: SSAValue, sharding: TensorSharding | None, origin: str) -> None:
    held_by = storing_value(value)
    if held_by is not None and sharding is not None:
        origins.annotate(held_by, sharding, origin)


class Origins:
    """The origin of every axis, by value and axis.

    Annotations are recorded first; then every step passes on the origins of the axes that it moves. The first origin
    recorded for an axis stays. Source: docs/spec/02, 9.3 and 9.5.
    """

    def __init__(self) -> None:
        self._origins: dict[SSAValue, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[tuple[SSAValue, Mapping[AxisRef, str]]]:
        """Yield the values that have an origin for some axis, with these origins."""
        yield from self._origins.items()

    def annotate(self, value: SSAValue, sharding: TensorSharding, origin: str) -> None:
        """Record `origin` for the axes in the dims of `sharding` that have no origin at `value` yet."""
        for dim in sharding.dims:
            for axis in dim.axes:
                self._record(value, axis, origin)

    def follow(self, moves: Iterable[AxisMove], values: Sequence[SSAValue | None]) -> None:
        """Pass on the origins of the axes that moved between `values`, the tensors of an op.

        An axis without an origin comes from a sharding that is not an annotation, and is skipped.
        """
        for move in moves:
            source, target = values[move.source], values[move.target]
            origin = None if source is None else self._lookup(source, move.axis)
            if origin is not None and target is not None:
                self._record(target, move.axis, origin)

    def _record(self, value: SSAValue, axis: AxisRef, origin: str) -> None:
        self._origins.setdefault(value, {}).setdefault(axis, origin)

    def _lookup(self, value: SSAValue, axis: AxisRef) -> str | None:
        """Return the origin of the axis, or of the first recorded axis that contains it or is contained in it."""
        known = self._origins.get(value, {})
        if axis in known:
            return known[axis]
        return next((known[each] for each in known if contains(each, axis) or contains(axis, each)), None)


AxisOrigins = Mapping[AxisRef, str]
SELF = "self"


def write_origins(module: ModuleOp, origins: Mapping[SSAValue, AxisOrigins]) -> None:
    """Write the origins of the values that store shardings, and of the function results that return these values."""
    for value, origins_of_axes in origins.items():
        _write_on_result(value, origins_of_axes)
        _write_on_value(value, origins)


def _write_on_result(value: SSAValue, origins_of_axes: AxisOrigins) -> None:
    for use in value.uses:
        func = use.operation.parent_op()
        if isinstance(func, FuncOp) and use.operation is func.body.block.last_op:
            count = len(func.function_type.outputs)
            attr = _dictionary(origins_of_axes, f"output: {use.index}")
            func.res_attrs = with_attribute(func.res_attrs, count, use.index, ORIGINS, attr)
            return


def _write_on_value(value: SSAValue, origins: Mapping[SSAValue, AxisOrigins]) -> None:
    op, origins_of_axes = op_of(value), origins[value]
    if isinstance(value, BlockArgument):
        if isinstance(op, FuncOp):
            count = len(op.function_type.inputs)
            attr = _dictionary(origins_of_axes, f"input: {value.index}")
            op.arg_attrs = with_attribute(op.arg_attrs, count, value.index, ORIGINS, attr)
    elif isinstance(op, ShardingConstraintOp | DataFlowEdgeOp):
        op.attributes[ORIGINS] = _dictionary(origins_of_axes, _own_name(op))
    elif op is not None:
        op.attributes[ORIGINS] = ArrayAttr(_dictionary(origins.get(result, {})) for result in op.results)


def _own_name(op: ShardingConstraintOp | DataFlowEdgeOp) -> str | None:
    """Return the name of the op's annotation; the edge of a manual computation has that of the in or out sharding."""
    if isinstance(op, ShardingConstraintOp):
        return _origin_name(op)
    owner = op.input
    computation = op_of(owner)
    if not isinstance(computation, ManualComputationOp):
        return None
    side = "input" if isinstance(owner.owner, Block) else "output"
    return f"{_origin_name(computation)}_{side}: {index_of(owner)}"


def _origin_name(op: Operation) -> str | None:
    name = op.attributes.get(ORIGIN_NAME)
    return name.data if isinstance(name, StringAttr) else None


def _dictionary(origins_of_axes: AxisOrigins, own_name: str | None = None) -> DictionaryAttr:
    entries: dict[str, Attribute] = {}
    for axis, origin in origins_of_axes.items():
        entries[str(axis).replace('"', "")] = StringAttr(SELF if origin == own_name else origin)
    return DictionaryAttr(entries)


NumberedMoves = tuple[int, Sequence[AxisMove]]  # the number of a step, and the axes moved in it


def propagation_edges(steps: Iterable[NumberedMoves], operand_count: int) -> PropagationEdges:
    """Return the edges of an op with `operand_count` operands. An axis that moves again is recorded at its first step.

    >>> from sdy.model.rule import FactorIndex
    >>> moves = [AxisMove(AxisRef("x"), FactorIndex(0), 0, target) for target in (2, 1)]
    >>> [[str(target) for target in flow.targets] for flow in propagation_edges([(4, moves)], 2)[0].flows]
    [['operand-1', 'result-0']]

    Source: docs/spec/02, 9.4 and 9.6.
    """
    first: dict[tuple[AxisRef, int, int], int] = {}
    for number, moves in steps:
        for move in moves:
            key = (move.axis, move.source, move.target)
            first[key] = min(number, first.get(key, number))
    flows: dict[int, dict[tuple[AxisRef, int], list[int]]] = {}
    for (axis, source, target), number in first.items():
        flows.setdefault(number, {}).setdefault((axis, source), []).append(target)
    return tuple(PropagationStep(number, _flows(flows[number], operand_count)) for number in sorted(flows))


def _flows(targets: Mapping[tuple[AxisRef, int], list[int]], operand_count: int) -> tuple[AxisFlow, ...]:
    """Return the flows of one step, in the order of the axes."""
    return tuple(
        AxisFlow(
            axis,
            _node(source, operand_count),
            tuple(_node(target, operand_count) for target in sorted(targets[axis, source])),
        )
        for axis, source in sorted(targets, key=lambda key: (order_key(key[0]), key[1]))
    )


def _node(tensor: int, operand_count: int) -> EdgeNode:
    if tensor < operand_count:
        return EdgeNode(EdgeNodeKind.OPERAND, tensor)
    return EdgeNode(EdgeNodeKind.RESULT, tensor - operand_count)


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """The records that a pass keeps."""

    sharding_origins: bool = False
    propagation_edges: bool = False

    @property
    def records_any(self) -> bool:
        """Return whether any record is kept."""
        return self.sharding_origins or self.propagation_edges


@dataclass
class _EdgesOfOp:
    """The recorded steps at one op."""

    operand_count: int
    steps: list[NumberedMoves] = field(default_factory=list[NumberedMoves])


class DebugRecords:
    """The records of one pass over a module. Must be created before the pass changes anything."""

    def __init__(self, module: ModuleOp, options: DebugOptions) -> None:
        self._module = module
        self.meshes = meshes_of(module)
        self._origins: Origins | None = annotation_origins(module) if options.sharding_origins else None
        self._keeps_edges = options.propagation_edges
        self._edges: dict[Operation, _EdgesOfOp] = {}
        self._edges_of_results: list[NumberedMoves] = []
        self._next_step = _first_step(module)

    def add_step(
        self, op: Operation, moves: Sequence[AxisMove], operand_count: int, values: Sequence[SSAValue | None]
    ) -> None:
        """Record the next step: the axes that moved at `op`.

        `values` store the shardings of its tensors, operands then results.
        """
        edges = self._edges.setdefault(op, _EdgesOfOp(operand_count))
        self._add(edges.steps, moves, values)

    def add_trace(
        self,
        steps: Sequence[TraceStep],
        op_of_node: Mapping[Node, Operation],
        stored_on: Mapping[Value, SSAValue],
    ) -> None:
        """Record the steps of an engine's trace."""
        for step in steps:
            holders = holders_of(step.site)
            if isinstance(step.site, Node):
                values = [None if holder is None else stored_on.get(holder) for holder in holders]
                self.add_step(op_of_node[step.site], step.moves, len(step.change.before.operands), values)
            else:
                # The attribute of a function result has no origins: those of the returned value are used.
                returned = None if holders[0] is None else stored_on.get(holders[0])
                self._add(self._edges_of_results, step.moves, (returned, returned))

    def write(self) -> None:
        """Write the records as attributes of the ops that still exist."""
        alive = set(pre_order(self._module))
        if self._origins is not None:
            write_origins(self._module, {value: found for value, found in self._origins if op_of(value) in alive})
        if not self._keeps_edges:
            return
        for op, edges in self._edges.items():
            if op in alive and (found := propagation_edges(edges.steps, edges.operand_count)):
                op.attributes[EDGES] = PropagationEdgesAttr(found)
        if found := propagation_edges(self._edges_of_results, operand_count=1):
            func = main_function(self._module)
            count = len(func.function_type.outputs)
            # As in Shardy, the first result gets the edges of all results.
            func.res_attrs = with_attribute(func.res_attrs, count, 0, EDGES, PropagationEdgesAttr(found))

    def _add(self, steps: list[NumberedMoves], moves: Sequence[AxisMove], values: Sequence[SSAValue | None]) -> None:
        if self._origins is not None:
            self._origins.follow(moves, values)
        steps.append((self._next_step, moves))
        self._next_step += 1


def _first_step(module: ModuleOp) -> int:
    """Return the number after the last step that an earlier pass recorded."""
    recorded = (op.attributes.get(EDGES) for op in pre_order(module))
    edges = [attr.data for attr in recorded if isinstance(attr, PropagationEdgesAttr)]
    return max((step.index for each in edges for step in each), default=-1) + 1
