"""A log of the edits of ops, blocks and regions, whoever makes them.

xDSL tells no listener that a field was set. So while a log listens, each write to a field of xDSL's `Operation`,
`Block` and `Region` passes through a `__setattr__` of this module, and the attributes and properties of the ops that
are watched are dictionaries that note their own changes. Types of values are set by `set_type` alone, which notes it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

Ops: TypeAlias = dict[int, Operation]  # by id; keeps them alive, so that no other object gets the id
Containers: TypeAlias = dict[int, Block | Region]

_OP_FIELDS = ("_operands", "_successors", "results", "properties", "regions")
_BLOCK_FIELDS = ("_args", "_last_op", "_next_block")
_REGION_FIELDS = ("_first_block", "_last_block")
_set = object.__setattr__
_set_item = dict[str, Attribute].__setitem__


class EditLog:
    """The edits made while the log listened, since it was last cleared."""

    def __init__(self) -> None:
        self.written: Ops = {}  # with other fields
        self.attributes: Ops = {}  # with other attributes
        self.placed: Ops = {}  # created, inserted, moved or removed
        self.containers: Containers = {}  # with other arguments, blocks, or another last op
        self.placed_containers: Containers = {}
        self.reduced: Ops = {}  # with fewer attributes: the rules of most ops require none
        self.values: list[SSAValue] = []  # whose users may be invalid now: with another type, moved or removed
        self.ops_by_field: dict[str, Ops] = {
            **dict.fromkeys(_OP_FIELDS, self.written),
            "attributes": self.attributes,
            "parent": self.placed,
        }
        self.containers_by_field: dict[str, Containers] = {
            **dict.fromkeys((*_BLOCK_FIELDS, *_REGION_FIELDS), self.containers),
            "parent": self.placed_containers,
        }

    def is_empty(self) -> bool:
        """Return whether nothing was edited."""
        return not any(self._edits())

    def clear(self) -> None:
        """Forget all edits."""
        for edits in self._edits():
            edits.clear()

    def _edits(self) -> tuple[Ops | Containers | list[SSAValue], ...]:
        ops = (self.written, self.attributes, self.placed, self.reduced)
        return (*ops, self.containers, self.placed_containers, self.values)

    @contextmanager
    def listening(self) -> Generator[None, None, None]:
        """Listen for edits, by any thread. Ops that exist already must be watched."""
        with _lock:
            _listening.append(self)
            for node_class, write in _WRITES.items():
                setattr(node_class, "__setattr__", write)  # noqa: B010 (pyright would take it for a method of the class)
        try:
            yield
        finally:
            with _lock:
                _listening.remove(self)
                if not _listening:
                    for node_class in _WRITES:
                        delattr(node_class, "__setattr__")


_listening: list[EditLog] = []
_lock = Lock()


def _write_op(op: Operation, name: str, value: object) -> None:
    """Set a field of an op, and note it in all logs that listen."""
    if name in _NOTED_IN_OPS:
        for log in _listening:
            log.ops_by_field[name][id(op)] = op
            # No op in a module uses the results of an op that is in no block.
            if name == "results" or (name == "parent" and op.parent is not None):
                log.values += op.results
        if type(value) is dict:
            value = _watched(op, name, cast("dict[str, Attribute]", value))
    _set(op, name, value)


def _write_container(node: Block | Region, name: str, value: object) -> None:
    """Set a field of a block or region, and note it in all logs that listen."""
    if name in _NOTED_IN_CONTAINERS:
        for log in _listening:
            log.containers_by_field[name][id(node)] = node
            if name == "_args":
                log.values += getattr(node, "_args", ())
    _set(node, name, value)


_NOTED_IN_OPS = frozenset((*_OP_FIELDS, "attributes", "parent"))
_NOTED_IN_CONTAINERS = frozenset((*_BLOCK_FIELDS, *_REGION_FIELDS, "parent"))
_WRITES = {Operation: _write_op, Block: _write_container, Region: _write_container}


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
        if self.get(name) is not attr:  # passes often set what was there
            op = self.op
            for log in _listening:
                log.ops_by_field[self.field][id(op)] = op
            _set_item(self, name, attr)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Attribute]]]:
        return dict, (dict(self),)


def _noting(method: Callable[..., object]) -> Callable[..., object]:
    def change(attributes: WatchedAttributes, *args: object, **named: object) -> object:
        for log in _listening:
            log.ops_by_field[attributes.field][id(attributes.op)] = attributes.op
        return method(attributes, *args, **named)

    return change


def _noting_removal(method: Callable[..., object]) -> Callable[..., object]:
    def remove(attributes: WatchedAttributes, *args: object) -> object:
        is_absent = bool(args) and args[0] not in attributes
        for log in () if is_absent else _listening:
            ops = log.reduced if attributes.field == "attributes" else log.written
            ops[id(attributes.op)] = attributes.op
        return method(attributes, *args)

    return remove


for _method in ("__ior__", "setdefault", "update"):
    setattr(WatchedAttributes, _method, _noting(getattr(dict, _method)))
for _method in ("__delitem__", "clear", "pop", "popitem"):
    setattr(WatchedAttributes, _method, _noting_removal(getattr(dict, _method)))


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
