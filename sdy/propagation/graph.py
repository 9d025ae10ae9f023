"""The graph of a flattened module: values, the ops that define and use them, and the holders of shardings.

The engine sees nothing else of a program. The code that flattens a module (a pass or a test) creates the nodes in
pre-order, each op before the ops in its regions, and fills in the fields below. Source: docs/spec/02, 1.5 to 1.9, 2.4
and 8.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Generic, TypeVar

from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import with_manual_axes, without_manual_axes

T = TypeVar("T", bound=Hashable)

NO_RULE = -1
MISSING = 0  # the number of "no sharding", which differs from "all dims open and without axes"


class Numbering(Generic[T]):
    """A bijection from distinct values to consecutive integers, from `first` on."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[T, int] = {}
        self._values: list[T] = []

    def number(self, value: T) -> int:
        """Return the number of `value`, assigning the next one to a new value."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._first + len(self._values)
            self._values.append(value)
        return number

    def value(self, number: int) -> T:
        """Return the value of `number`. Raises: IndexError if no value has it."""
        return self._values[number - self._first]


class NodeKind(IntEnum):
    """The treatment of an op by the engine. The values are integers because they are dictionary keys on hot paths."""

    OPAQUE = auto()  # no rule: never visited; other ops shard its operands and results
    RULE = auto()  # propagates along its sharding rule
    BARRIER = auto()  # identity rule in a fixed direction, independent of op priorities
    EDGE = auto()  # a data-flow edge: identity rule from its sources to its result
    CALL = auto()
    RETURN = auto()  # terminator of a function
    TERMINATOR = auto()  # any other terminator


PROPAGATING = frozenset({NodeKind.RULE, NodeKind.BARRIER, NodeKind.EDGE})


class PassThrough(IntEnum):
    """The op-priority class of an op (docs/spec/02, 5.2)."""

    BOTH = auto()  # element-wise ops, reshape, transpose, edges, moves between memories
    FORWARD = auto()  # dynamic_slice, dynamic_update_slice
    BOTH_AS_SEVERAL_OPS = auto()  # element-wise ops that stand for several ops, which use an operand more than once
    BROADCAST = auto()  # broadcast_in_dim: backward long before forward
    NO = auto()


class Direction(IntEnum):
    """The tensors of an op that axes may come from: its operands (FORWARD), its results (BACKWARD), or both.

    Axes may reach all of its tensors.

    The values are integers because they are dictionary keys on hot paths, and bits because they are combined.
    """

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


@dataclass(slots=True, eq=False, repr=False)  # nodes and values refer to each other, so a `repr` would not end
class Value:
    """An SSA value: its owner, its uses (latest first), and the value that holds its sharding.

    `owner` is the defining op; for a block argument, the op whose region has the block; for a result of the main
    function, None. `rank` is that of the tensor, 0 if the type has no shape. A value whose `holder` is itself, as
    almost always, is called a holder and uses the fields from `sharding` on. A value without a holder cannot be
    sharded.

    `siblings` are the values whose shardings are entries of the same list, this one included, or none if it is alone:
    the first assignment to such a list makes the other entries fully open. `other_nodes` are the nodes that have this
    holder among their tensors without defining or using the value itself.
    """

    owner: Node | None
    is_scalar_tensor: bool = False
    rank: int = 0
    is_block_argument: bool = False
    uses: Sequence[tuple[Node, int]] = ()
    group: list[Value] | None = None  # all members of the sharding group, this value included
    holder: Value | None = None
    sharding: int = MISSING  # a number of `Graph.shardings`, or MISSING
    siblings: Sequence[Value] = ()
    other_nodes: Sequence[Node] = ()
    is_changed: bool = False

    @property
    def grouped_holders(self) -> Sequence[Value]:
        """The holders of the other members of the sharding group of this holder."""
        if self.group is None:
            return ()
        return [member.holder for member in self.group if member.holder is not None and member.holder is not self]


@dataclass(frozen=True, slots=True)
class ManualBoundary:
    """The conversion at the data-flow edge of a manual computation between the stored sharding and the one sources see.

    For a block argument, the edge stores the local sharding and its sources are outside; for a result, the edge stores
    the global sharding and its sources are inside. Source: docs/spec/02, 8.4.
    """

    manual_axes: tuple[str, ...]
    outer: TensorSharding  # the in or out sharding of the op, which propagation does not change
    is_result: bool

    def seen_by_sources(self, stored: TensorSharding) -> TensorSharding:
        """Return the sharding that the sources of the edge see if the edge stores `stored`."""
        if self.is_result:
            return without_manual_axes(stored, self.manual_axes)
        return with_manual_axes(self.outer, stored, self.manual_axes)

    def stored(self, seen: TensorSharding) -> TensorSharding:
        """Return the sharding that the edge must store for its sources to see `seen`."""
        if self.is_result:
            return with_manual_axes(self.outer, seen, self.manual_axes)
        return without_manual_axes(seen, self.manual_axes)


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """An op. Its `index` is its position in pre-order.

    `tensors` are the holders that its rule maps, operands then results; None for a value that has no holder. `feeds`
    maps an operand index to the data-flow edge that this operand is a source of.
    """

    index: int
    kind: NodeKind
    parent: Node | None
    rule: int = NO_RULE  # a number of `Graph.rules`, or NO_RULE
    is_elementwise: bool = False
    pass_through: PassThrough = PassThrough.NO
    is_erasable: bool = False  # no side effects, including those of inner ops; neither a terminator nor a symbol
    operands: Sequence[Value] = ()
    results: Sequence[Value] = ()
    children: Sequence[Node] = ()
    tensors: tuple[Value | None, ...] = ()
    direction: Direction = Direction.BOTH  # of a barrier
    boundary: ManualBoundary | None = None  # of an edge
    linked_values: tuple[Value, ...] = ()  # an edge's targets other than the owner
    feeds: Mapping[int, Node] | None = None
    is_erased: bool = False

    @property
    def is_dead(self) -> bool:
        """Return whether the op can be erased: no result has a use, and it has no other effect."""
        if self.is_erasable:
            for result in self.results:
                if result.uses:
                    return False
        return self.is_erasable


@dataclass(slots=True, eq=False, repr=False)
class FunctionResult:
    """A result of the main function: the returned value and the holder of the result attribute."""

    returned: Value
    holder: Value
    rule: int  # an identity rule over the type


@dataclass(slots=True, eq=False, repr=False)
class Graph:
    """The graph of a flattened module.

    `callees` maps a call to the argument values of its function, and `callers` a return to the calls of its function,
    in the order of the symbol uses. `erased` is filled by the engine; users come before the ops that they use.
    """

    meshes: Mapping[str, Mesh]
    shardings: Numbering[TensorSharding] = field(default_factory=lambda: Numbering(first=MISSING + 1))
    rules: Numbering[OpShardingRule] = field(default_factory=lambda: Numbering())
    nodes: list[Node] = field(default_factory=lambda: [])
    holders: list[Value] = field(default_factory=lambda: [])
    erased: list[Node] = field(default_factory=lambda: [])
    main_results: list[FunctionResult] = field(default_factory=lambda: [])
    callees: dict[Node, list[Value]] = field(default_factory=lambda: {})
    callers: dict[Node, list[Node]] = field(default_factory=lambda: {})

    def add_holder(self, value: Value, sharding: TensorSharding | None, rank: int) -> Value:
        """Make `value` the only holder of its sharding, without siblings, and return it."""
        value.sharding = MISSING if sharding is None else self.shardings.number(sharding)
        value.rank = rank
        value.holder = value
        self.holders.append(value)
        return value

    def sharding(self, holder: Value) -> TensorSharding | None:
        """Return the sharding of `holder`; None if it has none."""
        return None if holder.sharding == MISSING else self.shardings.value(holder.sharding)

    def dissolve(self) -> None:
        """Drop all nodes, values and holders once they are no longer needed.

        They refer to each other in cycles. Otherwise they would stay alive until the garbage collector has traversed
        the full module, which takes longer than a sweep.
        """
        for node in self.nodes:
            node.parent, node.feeds = None, None
            node.operands = node.results = node.children = node.tensors = node.linked_values = ()
        for holder in self.holders:
            holder.holder = None
            holder.siblings = ()
        for table in (self.nodes, self.holders, self.erased, self.main_results, self.callees, self.callers):
            table.clear()
