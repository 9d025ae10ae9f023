"""A module flattened once: values, the ops that read and define them, and the places that hold shardings.

The engine sees nothing else of a program. Whoever flattens (a pass, or a test) creates the nodes in pre-order,
each op before the ops in its regions, and fills in what the classes below say. Source: docs/spec/02, 1.5 to
1.9, 2.4 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto

from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.propagation.numbering import Numbering

NO_RULE = -1
MISSING = 0  # the number of "no sharding", which is not the same as "all dims open and empty"


class NodeKind(IntEnum):
    """How the engine treats an op. Integers, as they key tables."""

    OPAQUE = auto()  # no rule: shardings on it are sources and sinks for its neighbours
    RULE = auto()  # propagates along its sharding rule
    BARRIER = auto()  # identity rule in a fixed direction, exempt from op priorities
    EDGE = auto()  # a data-flow edge: sources as operands, the edge's result as result, identity rule
    CALL = auto()
    RETURN = auto()  # terminator of a function
    TERMINATOR = auto()  # any other terminator


PROPAGATING = frozenset({NodeKind.RULE, NodeKind.BARRIER, NodeKind.EDGE})


class PassThrough(IntEnum):
    """In which op-priority class an op starts (docs/spec/02, 5.2)."""

    BOTH = auto()  # element-wise ops, reshape, transpose, edges, moves between memories
    FORWARD = auto()  # dynamic_slice, dynamic_update_slice
    BROADCAST = auto()  # broadcast_in_dim: backward long before forward
    NO = auto()


class Direction(IntEnum):
    """Which tensors may be the source of an axis; all tensors are destinations.

    Integers, as they key tables, and bits, as they add up.
    """

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


@dataclass(slots=True, eq=False)
class Value:
    """An SSA value: who defines it, who uses it (latest use first), and which value's sharding is its own.

    `owner` is the defining op; for a block argument the op whose region holds the block; None for a result of the main
    function. `rank` is that of the tensor, 0 where the type has no shape. A value whose `holder` is itself, as nearly
    always, is a holder: it has the fields from `sharding` on. A value without holder cannot be sharded.

    `siblings` are the entries of one per-value list, this one included, none where it is alone: the first store to a
    list that does not exist yet makes the others all-open. `readers` are the nodes that have this holder among their
    tensors without defining or using the value itself.
    """

    owner: Node | None
    is_scalar_tensor: bool = False
    rank: int = 0
    is_block_argument: bool = False
    uses: Sequence[tuple[Node, int]] = ()
    group: list[Value] | None = None  # all members of the sharding group, this value included
    holder: Value | None = None
    sharding: int = MISSING  # or a number of `Graph.shardings`
    siblings: Sequence[Value] = ()
    readers: Sequence[Node] = ()
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class ManualBoundary:
    """The edge of a manual computation: what its sharding looks like from the sources' side.

    For a block argument the edge holds the local sharding and its sources are outside; for a result the edge holds
    the global one and its sources are inside.
    """

    manual_axes: tuple[str, ...]
    outer: TensorSharding  # the in or out sharding of the op, which propagation does not change
    is_result: bool


@dataclass(slots=True, eq=False)
class Node:
    """One op, in pre-order.

    `tensors` are the holders that its rule speaks of, operands then results; None for a value that has none.
    `feeds` maps an operand position to the data-flow edge that this use feeds.
    """

    index: int
    kind: NodeKind
    parent: Node | None
    rule: int = NO_RULE  # or a number of `Graph.rules`
    is_elementwise: bool = False
    pass_through: PassThrough = PassThrough.NO
    is_erasable: bool = False  # no side effects, also of the ops inside; no terminator, no symbol
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
        """May be erased: no result is used and nothing else would be missed."""
        if self.is_erasable:
            for result in self.results:
                if result.uses:
                    return False
        return self.is_erasable


@dataclass(slots=True, eq=False)
class FunctionResult:
    """A result of the main function: the returned value, and the holder of the result attribute."""

    returned: Value
    holder: Value
    rule: int  # identity over the type


@dataclass(slots=True, eq=False)
class Graph:
    """A flattened module.

    `callees` maps a call to the argument values of its function, `callers` a return to the calls of its function,
    in the order in which symbol uses are found. `erased` has users before what they use, and is filled by the engine.
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
        """Let `value`, which is returned, hold its own sharding, alone in its list."""
        value.sharding = MISSING if sharding is None else self.shardings.number(sharding)
        value.rank = rank
        value.holder = value
        self.holders.append(value)
        return value

    def sharding(self, holder: Value) -> TensorSharding | None:
        """What `holder` holds."""
        return None if holder.sharding == MISSING else self.shardings.value(holder.sharding)

    def dissolve(self) -> None:
        """Forget all nodes, values and holders, when nobody needs them any more.

        They refer to each other in circles. Left like that they would stay until the collector of circles has gone
        through the whole module, which takes it longer than a sweep takes.
        """
        for node in self.nodes:
            node.parent, node.feeds = None, None
            node.operands = node.results = node.children = node.tensors = node.linked_values = ()
        for holder in self.holders:
            holder.holder = None
            holder.siblings = ()
        for each in (self.nodes, self.holders, self.erased, self.main_results, self.callees, self.callers):
            each.clear()
