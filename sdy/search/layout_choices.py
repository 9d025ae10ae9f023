"""The ways to shard each op between which a cost network chooses, and the annotations of the user that it keeps.

An op with four factors has five places for each mesh axis, so there are 125 ways with three axes and 3,125 with five.
On meshes of many axes, the search therefore places a few axes at a time, and the others stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.mesh_digits import DigitTuple, NumberedDigits
from sdy.model.sharding import TensorSharding
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import Assignment, LayoutNodeKind, OpLayout
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import ModuleGraph


@dataclass(frozen=True, slots=True)
class OpLayoutChoices:
    """The choices for the nodes of a graph: `free` axes may be anywhere, the others are where `op_layouts` has them.

    Without `op_layouts`, no op uses the other axes. The axes of `required`, by node, are always kept. The axes of one
    factor have the order of `order`.
    """

    free: DigitTuple
    order: DigitTuple
    op_layouts: Sequence[OpLayout] | None = None
    required: Mapping[int, OpLayout] = field(default_factory=dict[int, OpLayout])
    _known: dict[tuple[int, DigitTuple, Assignment], tuple[OpLayout, ...]] = field(
        default_factory=dict[tuple[int, DigitTuple, Assignment], tuple[OpLayout, ...]]
    )  # by the id() of the kind, which the graph keeps alive

    @staticmethod
    def all(axes: DigitTuple) -> OpLayoutChoices:
        """Return the choices with which each of all axes, in this order, may be anywhere."""
        return OpLayoutChoices(axes, axes)

    def of(self, number: int, kind: LayoutNodeKind) -> tuple[OpLayout, ...]:
        """Return the choices for the node of this number; a linear op may also take partial operands."""
        required = self.required.get(number)
        kept = set[int]() if required is None else {digit for digits in required.assignment.factors for digit in digits}
        free = tuple(digit for digit in self.free if digit not in kept)
        own = required if self.op_layouts is None else self.op_layouts[number]
        fixed = kind.assignment({}) if own is None else _without(own.assignment, free)
        key = id(kind), free, fixed
        if key not in self._known:
            self._known[key] = tuple(kind.op_layouts_beside(fixed, [(digit,) for digit in free], self.order))
        return self._known[key]


def _without(assignment: Assignment, free: DigitTuple) -> Assignment:
    """Return an assignment without some axes."""
    factors = tuple(tuple(digit for digit in digits if digit not in free) for digits in assignment.factors)
    partial = tuple(digit for digit in assignment.partial if digit not in free)
    return Assignment(factors, partial, assignment.partial_operands if partial else ())


class KeptAnnotations:
    """The annotations of `written` by node of its graph: closed dims stay as they are, open ones are extended.

    `op_layouts` has the op layouts with exactly the axes of an annotation, where they are possible. `order` has the
    axes in the order of the annotations, as far as these agree, or else in that of the mesh.
    """

    def __init__(self, written: ModuleOp, graph: ModuleGraph) -> None:
        self._digits = graph.digits
        self._shardings = dict(_annotated(written, graph))
        self.order = self._order_of_axes()
        self.op_layouts: dict[int, OpLayout] = {}
        for number, sharding in self._shardings.items():
            kind = graph.graph.nodes[number].kind
            dims = [self._digits.split(dim.axes) for dim in sharding.dims]
            factors = None if None in dims else kind.project(0, Layout(tuple(each or () for each in dims)))
            op_layout = None if factors is None else kind.op_layout(kind.assignment(factors))
            if op_layout is not None:
                self.op_layouts[number] = op_layout

    def allowed(self) -> Iterator[tuple[int, Callable[[Layout], bool]]]:
        """Yield each annotated node, with a function that tells whether a layout keeps its annotation."""
        for number, sharding in self._shardings.items():
            yield number, partial(keeps, sharding, self._digits)

    def _order_of_axes(self) -> DigitTuple:
        before: dict[int, frozenset[int]] = dict.fromkeys(range(len(self._digits.sizes)), frozenset())
        for sharding in self._shardings.values():
            for dim in sharding.dims:
                tried = dict(before)
                for first, second in pairwise(self._digits.split(dim.axes) or ()):
                    tried[second] |= {first}
                if _is_possible(tried):
                    before = tried
        return tuple(TopologicalSorter(before).static_order())


def _annotated(written: ModuleOp, graph: ModuleGraph) -> Iterator[tuple[int, TensorSharding]]:
    """Yield the nodes of annotated arguments and results, with their annotations."""
    main = main_function(written)
    for nodes, sharding_of in zip(boundary_nodes(graph), (argument_sharding, function_result_sharding), strict=True):
        for number, node in nodes.items():
            sharding = sharding_of(main, number)
            if sharding is not None:
                yield node, sharding


def boundary_nodes(graph: ModuleGraph) -> tuple[dict[int, int], dict[int, int]]:
    """Return the nodes of the arguments and of the results of the main function, by their numbers."""
    arguments: dict[int, int] = {}
    results: dict[int, int] = {}
    for node, op in enumerate(graph.ops):
        if isinstance(op, ValueEdge) and not op.sources:
            arguments[_index(op.targets[0])] = node
        elif isinstance(op, ValueEdge) and not op.targets:
            assert op.result_of is not None  # an edge without targets is that of a result
            results[op.result_of[1]] = node
    return arguments, results


def _index(value: SSAValue) -> int:
    assert isinstance(value, BlockArgument)
    return value.index


def keeps(sharding: TensorSharding, digits: NumberedDigits, layout: Layout) -> bool:
    """Return whether a layout keeps a sharding; open dims may be sharded further."""
    for own, dim in zip(layout.dims, sharding.dims, strict=True):
        required = digits.split(dim.axes)
        if required is None or (own != required if dim.is_closed else own[: len(required)] != required):
            return False
    replicated = digits.split(sharding.replicated) or ()
    return not any(digit in replicated for dim in layout.dims for digit in dim)


def _is_possible(before: Mapping[int, frozenset[int]]) -> bool:
    """Return whether the axes have an order, given those that must be before each."""
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True
