"""A log of the edits of ops, blocks and regions, whoever makes them.

xDSL tells no listener that a field was set. So while a log listens, each write to a field of xDSL's `Operation`,
`Block` and `Region` passes through a `__setattr__` of this module, and the attributes and properties of the ops that
are watched are dictionaries that note their own changes. Types of values are set by `set_type` alone, which notes it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

Node: TypeAlias = Operation | Block | Region
Nodes: TypeAlias = dict[int, Node]  # by id; keeps them alive, so that no other object gets the id

_CLASSES = (Operation, Block, Region)
_FIELDS = (
    *("_operands", "_successors", "results", "properties", "regions"),  # of ops
    *("_args", "_last_op", "_next_block"),  # of blocks
    *("_first_block", "_last_block"),  # of regions
)
_NOTED = frozenset((*_FIELDS, "attributes", "parent"))
_set = object.__setattr__


class EditLog:
    """What was edited while the log listened, since it was last cleared."""

    def __init__(self) -> None:
        self.written: Nodes = {}  # with other fields
        self.attributes: Nodes = {}  # ops with other attributes
        self.placed: Nodes = {}  # created, inserted, moved or removed
        self.values: list[SSAValue] = []  # with other types, or replaced by other results or arguments
        self.by_field: dict[str, Nodes] = {
            **dict.fromkeys(_FIELDS, self.written),
            "attributes": self.attributes,
            "parent": self.placed,
        }

    def is_empty(self) -> bool:
        """Return whether nothing was edited."""
        return not (self.written or self.attributes or self.placed or self.values)

    def clear(self) -> None:
        """Forget all edits."""
        for edits in (self.written, self.attributes, self.placed, self.values):
            edits.clear()

    @contextmanager
    def listening(self) -> Generator[None, None, None]:
        """Listen for edits. Ops that exist already must be watched."""
        _listening.append(self)
        for node_class in _CLASSES:
            setattr(node_class, "__setattr__", _write)  # noqa: B010 (pyright would take it for a method of the class)
        try:
            yield
        finally:
            _listening.remove(self)
            if not _listening:
                for node_class in _CLASSES:
                    delattr(node_class, "__setattr__")


_listening: list[EditLog] = []


def _write(node: Node, name: str, value: object) -> None:
    """Set a field, and note it in all logs that listen."""
    if name in _NOTED:
        for log in _listening:
            log.by_field[name][id(node)] = node
            if name == "results":
                log.values += cast("Operation", node).results
            elif name == "_args":
                log.values += getattr(node, "_args", ())
    _set(node, name, value)


def note_type(value: SSAValue) -> None:
    """Note that the type of a value is set."""
    for log in _listening:
        log.values.append(value)


class WatchedAttributes(dict[str, Attribute]):
    """The attributes or properties of an op: a dictionary that notes its changes. Copies of it are plain."""

    __slots__ = ("field", "op")
    field: str
    op: Operation

    def __setitem__(self, name: str, attr: Attribute) -> None:
        for log in _listening:
            log.by_field[self.field][id(self.op)] = self.op
        dict.__setitem__(self, name, attr)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Attribute]]]:
        return dict, (dict(self),)


def _noting(method: Callable[..., object]) -> Callable[..., object]:
    def change(attributes: WatchedAttributes, *args: object, **named: object) -> object:
        for log in _listening:
            log.by_field[attributes.field][id(attributes.op)] = attributes.op
        return method(attributes, *args, **named)

    return change


for _method in ("__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(WatchedAttributes, _method, _noting(getattr(dict, _method)))


def watch(ops: Iterable[Operation]) -> None:
    """Let logs see changes of the attributes and properties of these ops."""
    for op in ops:
        if type(op.attributes) is dict:
            _set(op, "attributes", _watched(op, "attributes", op.attributes))
        if type(op.properties) is dict:
            _set(op, "properties", _watched(op, "properties", op.properties))


def _watched(op: Operation, field: str, attributes: dict[str, Attribute]) -> WatchedAttributes:
    watched = WatchedAttributes(attributes)
    watched.field, watched.op = field, op
    return watched
