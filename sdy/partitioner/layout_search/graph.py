"""The program as the search sees it: numbered ops and values. Whoever reads the IR builds it.

Values of which the search could tell no difference are one: the weights of fifty layers that are calls of a function.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sdy.partitioner.layout_search.layout import Layout, Tensor
from sdy.partitioner.layout_search.node import Kind, Run


class End(NamedTuple):
    """Where a value is read, or made: the number of a node, and the place among its operands, then results.

    All values of an edge are at its place 0, since it has all of them alike.
    """

    node: int
    place: int


@dataclass(slots=True)
class Node:
    """An op that may be cut otherwise; or places that hold the same value, such as what a loop carries along.

    `values` are the operands, then the results; of an edge, each value once.
    """

    kind: Kind
    run: Run
    values: tuple[int, ...] = ()
    flops: int = 0  # of a contraction, on whole tensors
    is_edge: bool = False  # places that hold the same value


@dataclass(slots=True)
class Value:
    """A tensor, or several. `layout` is how it comes where no node makes it; a free one comes in any, for nothing."""

    tensor: Tensor
    times: int  # how often it is made in a run; of several, all together
    layout: Layout
    is_free: bool
    maker: End | None = None
    readers: list[End] = field(default_factory=list[End])
    fixed_needs: set[Layout] = field(default_factory=set[Layout])  # of whoever is no node

    @property
    def ends(self) -> list[End]:
        """Where the value is read, and made."""
        return self.readers if self.maker is None else [*self.readers, self.maker]


@dataclass(slots=True)
class Graph:
    """All nodes and values of a module."""

    nodes: list[Node]
    values: list[Value]


def without_twins(values: Iterable[Value]) -> tuple[list[Value], list[int]]:
    """Values, with one for all that are read and made at the same places; and the number that each has among them."""
    found: dict[object, int] = {}
    kept: list[Value] = []
    numbers: list[int] = []
    for value in values:
        ends = value.maker, frozenset(value.readers), frozenset(value.fixed_needs)
        number = found.setdefault((value.tensor, value.layout, value.is_free, ends), len(kept))
        if number == len(kept):
            kept.append(value)
        else:
            kept[number].times += value.times
        numbers.append(number)
    return kept, numbers
