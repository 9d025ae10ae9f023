"""Dims of arguments that sharding rules tie to each other: the batch, the hidden dim, the heads of a network.

The dims of two tensors of an op are tied if they have the same major factor, so that propagation shards one like the
other. The arguments of a network of 32 layers have hundreds of dims, but only as many *named dims* as one layer has.
"""

from __future__ import annotations

from typing import NamedTuple

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.partitioner.layout_search.graph import LayoutNode
from sdy.search.searched_module import SearchedModule

_ValueDim = tuple[int, int]  # the number of a value of the graph, and a dim


class ArgumentDim(NamedTuple):
    """A dim of an argument of the main function, by their positions, and its size."""

    argument: int
    dim: int
    size: int


NamedDim = tuple[ArgumentDim, ...]  # dims that are tied, in the order of the arguments


def named_dims(searched: SearchedModule) -> list[NamedDim]:
    """Return the named dims of a program, in the order of its arguments. Dims of one element have no name."""
    ties = _Ties()
    for node in searched.graph.graph.nodes:
        for first, *others in _dims_by_factor(node).values():
            for other in others:
                ties.join(first, other)
    numbers = searched.graph.number_of_value()
    found: dict[_ValueDim, list[ArgumentDim]] = {}
    for argument in main_function(searched.module).body.block.args:
        if argument in numbers:
            for dim, size in enumerate(static_shape(argument.type) or ()):
                if size > 1:
                    root = ties.root((numbers[argument], dim))
                    found.setdefault(root, []).append(ArgumentDim(argument.index, dim, size))
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


class _Ties:
    """Disjoint sets of dims."""

    def __init__(self) -> None:
        self._parents: dict[_ValueDim, _ValueDim] = {}

    def root(self, dim: _ValueDim) -> _ValueDim:
        """Return the dim that stands for all those tied to `dim`."""
        while (parent := self._parents.get(dim, dim)) != dim:
            self._parents[dim] = self._parents.get(parent, parent)
            dim = parent
        return dim

    def join(self, first: _ValueDim, second: _ValueDim) -> None:
        self._parents[self.root(first)] = self.root(second)
