"""A record of the fields of all ops of a module, and a comparison that finds the ops that have changed since.

No hook of xDSL sees every change: attributes, properties and types can be set in place. Attributes are immutable,
though, so a field has changed only if it refers to another object. Comparing the fields of all ops with their record
takes a small fraction of a verification; most of it is the time to read the ops from memory, so each is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.ir.fast_ops import type_of
from sdy.dialects.verification.op_tree import OpTree, moved_ops

Values = tuple[SSAValue, ...]
Types = tuple[Attribute, ...]
Attributes = dict[str, Attribute]


class Fields(NamedTuple):
    """The fields of an op; in a record, the dictionaries are copies."""

    operands: Values
    results: Values
    properties: Attributes
    attributes: Attributes
    regions: tuple[Region, ...]
    next_op: Operation | None


# Returns the fields as a plain tuple, which is equal to `Fields`.
_fields_of = cast(
    "Callable[[Operation], Fields]",
    attrgetter("_operands", "results", "properties", "attributes", "regions", "_next_op"),
)
_results_of: Callable[[Fields], Values] = itemgetter(1)
_arguments_of: Callable[[Block], Values] = attrgetter("_args")
_NEW = Fields((), (), {}, {}, (), None)


@dataclass(slots=True)
class Changes:
    """The ops of a module that have changed, by id."""

    touched: dict[int, Operation] = field(default_factory=dict[int, Operation])  # new, moved, or with another field
    attributes: list[Operation] = field(default_factory=list[Operation])  # with other attributes
    order: bool = False  # ops were inserted, moved or erased

    def any(self) -> bool:
        """Return whether anything has changed."""
        return self.order or bool(self.touched) or bool(self.attributes)

    def touch(self, ops: Iterable[Operation | None]) -> None:
        """Add ops to those touched."""
        self.touched.update((id(op), op) for op in ops if op is not None)


class Snapshot:
    """The fields of the ops of a module when `update` was last called."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._copies: dict[tuple[str | int, ...], Attributes] = {}
        self.tree = OpTree.of(module)
        self._records = [_NEW] * len(self.tree.ops)
        self._types: list[Types] = [()] * len(self.tree.ops)  # of the results of each op
        for row in range(len(self._records)):
            self._update_record(row, Changes(), [])
        self._arguments = list(map(_arguments_of, self.tree.blocks))
        self._results = [*chain.from_iterable(map(_results_of, self._records))]
        self._result_types = [*chain.from_iterable(self._types)]
        self._argument_types: list[Types] = list(map(_types_of, self._arguments))

    def update(self) -> Changes:
        """Record the module as it is now, and return the ops that have changed since the last record."""
        changes = Changes()
        rows = self._changed_rows()
        suspects: list[SSAValue] = []  # values whose users may have become invalid
        if rows is None:
            rows = self._renew_tree(changes, suspects)
        for row in rows:
            self._update_record(row, changes, suspects)
        if suspects:
            self._results = [*chain.from_iterable(map(_results_of, self._records))]
            self._result_types = [*chain.from_iterable(self._types)]
        self._update_types(changes, suspects)
        self._update_arguments(changes, suspects)
        changes.touch(use.operation for value in suspects for use in value.uses if id(use.operation) in self.tree.rows)
        if changes.touched:
            last_ops = set(map(id, self.tree.last_ops))
            changes.touch([op.parent_op() for op in changes.touched.values() if id(op) in last_ops])
        return changes

    def _changed_rows(self) -> list[int] | None:
        """Return the rows of ops with other fields, or None if ops were inserted, moved or erased."""
        if not self.tree.has_same_links():
            return None
        ops, records = self.tree.ops, self._records
        rows = [row for row, (now, old) in enumerate(zip(map(_fields_of, ops), records, strict=True)) if now != old]
        for row in rows:
            op, record = ops[row], records[row]
            if op.next_op is not record.next_op or op.regions != record.regions:
                return None
        return rows

    def _update_record(self, row: int, changes: Changes, suspects: list[SSAValue]) -> None:
        """Record an op and add it to the changes."""
        op, old = self.tree.ops[row], self._records[row]
        operands, results, properties, attributes, regions, next_op = _fields_of(op)
        is_touched = operands is not old.operands
        if results is not old.results:
            self._types[row], is_touched = _types_of(results), True
            suspects += (*old.results, *results)
        if properties == old.properties:
            properties = old.properties
        else:
            properties, is_touched = self._copy(properties), True
        if attributes == old.attributes:
            attributes = old.attributes
        else:
            attributes = self._copy(attributes)
            changes.attributes.append(op)
        if is_touched:
            changes.touched[id(op)] = op
        self._records[row] = Fields(operands, results, properties, attributes, regions, next_op)

    def _copy(self, attributes: Attributes) -> Attributes:
        """Return a copy of a dictionary. Equal dictionaries share a copy."""
        # The copy keeps the attributes in it alive, so that no other attribute gets an id that is part of its key.
        key = (*attributes, *map(id, attributes.values()))
        copy = self._copies.get(key)
        if copy is None:
            copy = self._copies[key] = dict(attributes)
        return copy

    def _renew_tree(self, changes: Changes, suspects: list[SSAValue]) -> list[int]:
        """Walk over the module again, and return the rows of ops with other fields. Moved ops are touched."""
        changes.order = True
        old, new = self.tree, OpTree.of(self._module)
        old_rows = list(map(old.rows.get, map(id, new.ops), repeat(-1)))
        changes.touched = moved_ops(old, new, old_rows)
        suspects += chain.from_iterable(op.results for op in changes.touched.values())
        erased = map(old.rows.__getitem__, old.rows.keys() - new.rows.keys())
        suspects += chain.from_iterable(self._records[row].results for row in erased)
        self._rearrange(old_rows)
        self._rearrange_blocks(old, new, changes)
        self.tree = new
        pairs = zip(map(_fields_of, new.ops), self._records, strict=True)
        return [row for row, (now, before) in enumerate(pairs) if now != before]

    def _rearrange(self, old_rows: list[int]) -> None:
        """Change the order of what is recorded per op."""
        records = [*self._records, _NEW]
        types: list[Types] = [*self._types, ()]
        self._records = list(map(records.__getitem__, old_rows))
        self._types = list(map(types.__getitem__, old_rows))

    def _rearrange_blocks(self, old: OpTree, new: OpTree, changes: Changes) -> None:
        """Change the order of what is recorded per block. Ops with other blocks or ends of blocks are touched."""
        old_rows = dict(zip(map(id, old.blocks), range(len(old.blocks)), strict=True))
        rows = [old_rows.get(id(block), -1) for block in new.blocks]
        arguments: list[Values] = [*self._arguments, ()]
        types: list[Types] = [*self._argument_types, ()]
        self._arguments = list(map(arguments.__getitem__, rows))
        self._argument_types = list(map(types.__getitem__, rows))
        changed = [owner for owner in old.ends.keys() | new.ends.keys() if old.ends.get(owner) != new.ends.get(owner)]
        changes.touch(new.ops[new.rows[owner]] for owner in changed if owner in new.rows)

    def _update_types(self, changes: Changes, suspects: list[SSAValue]) -> None:
        """Record the types of results. Ops with other types are touched."""
        now = list(map(type_of, self._results))
        if now == self._result_types:
            return
        self._result_types = now
        for row, (op, record, before) in enumerate(zip(self.tree.ops, self._records, self._types, strict=True)):
            types = _types_of(record.results)
            if types != before:
                self._types[row] = types
                changes.touched[id(op)] = op
                suspects += record.results

    def _update_arguments(self, changes: Changes, suspects: list[SSAValue]) -> None:
        """Record the arguments of blocks. The op that contains a block with other arguments or types is touched."""
        arguments = list(map(_arguments_of, self.tree.blocks))
        types = list(map(_types_of, arguments))
        if arguments != self._arguments or types != self._argument_types:
            before = zip(self._arguments, self._argument_types, strict=True)
            for owner, now, old in zip(self.tree.owners, zip(arguments, types, strict=True), before, strict=True):
                if now != old:
                    changes.touch((owner,))
                    suspects += (*old[0], *now[0])
        self._arguments, self._argument_types = arguments, types


def _types_of(values: Values) -> Types:
    return tuple(map(type_of, values))
