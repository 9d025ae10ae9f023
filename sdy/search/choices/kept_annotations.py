"""The annotations of arguments and results, which the search keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.numbered_digits import DigitTuple, NumberedDigits
from sdy.model.sharding import TensorSharding
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import OpLayout
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import ModuleGraph


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
    for node, op in enumerate(graph.ops):
        if not isinstance(op, ValueEdge) or (op.sources and op.targets):
            continue
        if op.targets:
            sharding = argument_sharding(main, _index(op.targets[0]))
        else:
            assert op.result_of is not None  # an edge without targets is that of a result
            sharding = function_result_sharding(main, op.result_of[1])
        if sharding is not None:
            yield node, sharding


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
