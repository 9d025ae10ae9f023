"""The program as the search sees it: numbered ops and values. Whoever reads the IR builds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sdy.partitioner.communication.layout import Layout, Tensor
from sdy.partitioner.communication.node import Kind, Run


class End(NamedTuple):
    """Where a value is read, or made: the number of a node, and the place among its operands, then results."""

    node: int
    place: int


@dataclass(slots=True)
class Node:
    """An op that may be cut otherwise; or places that hold the same value, such as what a loop carries along.

    `values` are the operands, then the results.
    """

    kind: Kind
    run: Run
    values: tuple[int, ...] = ()
    flops: int = 0  # of a contraction, on whole tensors
    is_edge: bool = False  # places that hold the same value


@dataclass(slots=True)
class Value:
    """A tensor. `layout` is how it comes where no node makes it; a `free` one comes in any layout for nothing."""

    tensor: Tensor
    times: int  # how often it is made in a run
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
