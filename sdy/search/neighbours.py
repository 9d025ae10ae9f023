"""Annotations that differ in one decision from those of a candidate.

A decision is which *named dims* an axis shards, in all arguments that have them, or the layout of one argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.utils.disjoint_set import DisjointSet

from sdy.advice.edits import Edit, with_axis, without_axis
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.shardings import argument_sharding
from sdy.model.axis import AxisRef
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed, with_dim
from sdy.partitioner.layout_search.graph import LayoutNode
from sdy.search.layout_choices import boundary_nodes
from sdy.search.searched_module import SearchedModule

DIMS_OF_A_BATCH = 2  # the examples, and the positions in each: which of these is first depends on the library
_ValueDim = tuple[int, int]  # the number of a value of the graph, and a dim

Shardings = Mapping[BlockArgument, TensorSharding]  # of the arguments that are annotated


class Neighbours:
    """The neighbours of candidates of one search. The annotations of `written` stay. `axes` are the axes by size."""

    def __init__(self, written: ModuleOp, searched: SearchedModule) -> None:
        digits, main = searched.graph.digits, main_function(written)
        by_size = sorted(zip(digits.sizes, digits.refs, strict=True), key=lambda each: -each[0])
        self.axes = tuple(axis for _, axis in by_size)
        self._searched = searched
        self._arguments = main.body.block.args
        self._free = [each for each in self._arguments if argument_sharding(main, each.index) is None]
        self._named_dims = named_dims(searched)

    def usual(self, state: Collection[int]) -> Iterator[Sequence[Edit]]:
        """Yield the annotations of data parallelism: all axes shard one of the first dims of the other arguments.

        The arguments of the state are replicated; then, as in FSDP, each is sharded along its largest dim.
        """
        numbers = {argument.index for argument in self._free}
        weights = self._along_all_axes(numbers & set(state), largest_first=True)
        for dim in range(DIMS_OF_A_BATCH):
            batch = self._along_all_axes(numbers - set(state), dim)
            if batch:
                yield self._with((), batch)
                yield self._with((), {**weights, **batch})

    def _along_all_axes(self, numbers: Collection[int], *dims: int, largest_first: bool = False) -> Shardings:
        """Return shardings of arguments along all axes, in one of `dims`, or in the largest dim that they divide."""
        digits, found = self._searched.graph.digits, dict[BlockArgument, TensorSharding]()
        axes = tuple(range(len(digits.sizes)))
        for argument in (self._arguments[number] for number in sorted(numbers)):
            sizes = static_shape(argument.type) or ()
            tried = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True) if largest_first else dims
            fitting = [dim for dim in tried if dim < len(sizes) and digits.divides(sizes[dim], axes)]
            if fitting:
                closed = fully_closed(self._searched.mesh_name, len(sizes))
                found[argument] = with_dim(closed, fitting[0], DimSharding(digits.join(axes)))
        return found

    def along_axis(self, edits: Sequence[Edit], axis: AxisRef) -> Iterator[Sequence[Edit]]:
        """Yield annotations in which an axis shards other named dims: one of them alone, or one more or less.

        With one more, the arguments that are sharded along the axis stay as they are.
        """
        own = self._shardings(edits)
        free = set(self._free)
        without = {each: without_axis(sharding, axis) if each in free else sharding for each, sharding in own.items()}
        yield self._with(edits, without)
        for named in self._named_dims:
            yield self._with(edits, self._sharded(without, named, axis))
            yield self._with(edits, self._sharded(own, named, axis))
            members = {self._arguments[each.argument] for each in named}
            yield self._with(edits, {each: (without if each in members else own)[each] for each in own})

    def of_arguments(self, edits: Sequence[Edit]) -> Iterator[Sequence[Edit]]:
        """Yield annotations with another layout of one argument, or of equal arguments together, the largest first."""
        own = self._shardings(edits)
        groups: dict[object, list[BlockArgument]] = {}
        for argument in sorted(self._free, key=lambda each: -tensor_bytes(each.type)):
            groups.setdefault((argument.type, own.get(argument)), []).append(argument)
        for arguments in groups.values():
            for sharding in self._layouts_of(arguments[0]):
                if sharding != own.get(arguments[0]):
                    yield self._with(edits, {**own, **dict.fromkeys(arguments, sharding)}, keeps_replicated=True)

    def _shardings(self, edits: Sequence[Edit]) -> Shardings:
        by_target = {edit.target: edit.sharding for edit in edits}
        return {argument: by_target[argument] for argument in self._arguments if argument in by_target}

    def _with(self, edits: Sequence[Edit], shardings: Shardings, *, keeps_replicated: bool = False) -> Sequence[Edit]:
        """Return the edits with other shardings of the arguments."""
        arguments = set(self._arguments)
        own = [Edit(each, shardings[each]) for each in self._arguments if each in shardings]
        kept = [edit for edit in own if keeps_replicated or any(dim.axes for dim in edit.sharding.dims)]
        return [*kept, *(edit for edit in edits if edit.target not in arguments)]

    def _sharded(self, shardings: Shardings, named: NamedDim, axis: AxisRef) -> Shardings:
        """Return shardings with a named dim sharded along an axis in all arguments that the axis does not shard yet."""
        digits, found = self._searched.graph.digits, dict(shardings)
        for each in named:
            argument = self._arguments[each.argument]
            rank = len(static_shape(argument.type) or ())
            own = found.get(argument, fully_closed(self._searched.mesh_name, rank))
            if argument in self._free and axis not in own.axis_refs():
                sharded = with_axis(own, each.dim, axis)
                if digits.divides(each.size, digits.split(sharded.dims[each.dim].axes) or ()):
                    found[argument] = sharded
        return found

    def _layouts_of(self, argument: BlockArgument) -> Iterator[TensorSharding]:
        """Yield the shardings that an argument may have."""
        graph = self._searched.graph
        node = boundary_nodes(graph)[0].get(argument.index)
        if node is None:
            return
        digits = tuple((digit,) for digit in range(len(graph.digits.sizes)))
        for op_layout in graph.graph.nodes[node].kind.op_layouts(digits):
            dims = tuple(DimSharding(graph.digits.join(dim)) for dim in op_layout.layouts[0].dims)
            yield TensorSharding(self._searched.mesh_name, dims)


class ArgumentDim(NamedTuple):
    """A dim of an argument of the main function, by their positions, and its size.

    The dims of two tensors of an op are tied if they have the same major factor, so that propagation shards one like
    the other. The arguments of a network of 32 layers have hundreds of dims, but only as many *named dims* as one layer
    has.
    """

    argument: int
    dim: int
    size: int


NamedDim = tuple[ArgumentDim, ...]  # dims that are tied, in the order of the arguments


def named_dims(searched: SearchedModule) -> list[NamedDim]:
    """Return the named dims of a program, in the order of its arguments. Dims of one element have no name."""
    numbers = searched.graph.number_of_value()
    own = [
        ((numbers[argument], dim), ArgumentDim(argument.index, dim, size))
        for argument in main_function(searched.module).body.block.args
        if argument in numbers
        for dim, size in enumerate(static_shape(argument.type) or ())
        if size > 1
    ]
    tied = [dims for node in searched.graph.graph.nodes for dims in _dims_by_factor(node).values()]
    ties = DisjointSet[_ValueDim](list(dict.fromkeys(chain((dim for dim, _ in own), *tied))))
    for first, *others in tied:
        for other in others:
            ties.union(first, other)
    found: dict[_ValueDim, list[ArgumentDim]] = {}
    for dim, of_argument in own:
        found.setdefault(ties.find(dim), []).append(of_argument)
    return [tuple(dims) for dims in found.values()]


def _dims_by_factor(node: LayoutNode) -> dict[int, list[_ValueDim]]:
    """Return the dims of the tensors of an op by their major factor, of those factors that can be sharded."""
    free, sizes = set(node.kind.free_factors()), node.kind.rule.factor_sizes
    found: dict[int, list[_ValueDim]] = {}
    for value, mapping in zip(node.values, node.kind.rule.tensors, strict=True):
        for dim, factors in enumerate(mapping):
            major = next((factor for factor in factors if sizes[factor] > 1), None)
            if major in free:
                found.setdefault(major, []).append((value, dim))
    return found
