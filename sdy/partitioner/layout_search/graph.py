"""The graph that the search works on: numbered ops and values. It is built by a reader of the IR.

Values that the search could not distinguish are merged, such as the weights of layers that call the same function.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.node import LayoutNodeKind, OpLayout


class NodeTensor(NamedTuple):
    """A tensor of a node: the number of the node, and the position among its operands, followed by its results.

    All values of an edge have position 0, since they share one layout.
    """

    node: int
    position: int


@dataclass(slots=True)
class LayoutNode:
    """An op that may be sharded differently; or an edge: values that must share one layout, as a loop-carried value.

    `values` are the operands, then the results; of an edge, each value once.
    """

    kind: LayoutNodeKind
    op_layout: OpLayout
    values: tuple[int, ...] = ()
    flops: float = 0  # of a contraction or a kernel, on global tensors
    is_edge: bool = False


@dataclass(slots=True)
class GraphValue:
    """One or several equivalent tensors.

    `layout` is used if no node produces the value. A free value is available in every layout at no cost.
    """

    tensor: TensorSize
    times: int  # executions of the producer in a program run, summed over equivalent tensors
    layout: Layout
    is_free: bool
    producer: NodeTensor | None = None
    users: list[NodeTensor] = field(default_factory=list[NodeTensor])
    fixed_needs: set[Layout] = field(default_factory=set[Layout])  # required by users that are not nodes

    @property
    def ends(self) -> list[NodeTensor]:
        """The users and the producer."""
        return self.users if self.producer is None else [*self.users, self.producer]


@dataclass(slots=True)
class LayoutGraph:
    """All nodes and values of a module."""

    nodes: list[LayoutNode]
    values: list[GraphValue]


def merge_equivalent(values: Iterable[GraphValue]) -> tuple[list[GraphValue], list[int]]:
    """Merge values with the same producer and users; return the merged values, and the number of each given value."""
    found: dict[object, int] = {}
    merged: list[GraphValue] = []
    numbers: list[int] = []
    for value in values:
        ends = value.producer, frozenset(value.users), frozenset(value.fixed_needs)
        number = found.setdefault((value.tensor, value.layout, value.is_free, ends), len(merged))
        if number == len(merged):
            merged.append(value)
        else:
            merged[number].times += value.times
        numbers.append(number)
    return merged, numbers
