"""The ops of a module that have changed, from a log of edits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.ir.edit_log import EditLog, Node
from sdy.dialects.ir.walk import ops_in, pre_order


class Membership:
    """Tells which ops are in a module. Valid while no op is moved."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._blocks: dict[int, bool] = {}  # whether a block is in the module, by its id

    def has(self, op: Operation) -> bool:
        """Return whether `op` is the module or inside it."""
        block = op.parent
        if block is None:
            return op is self._module
        known = self._blocks.get(id(block))
        if known is None:
            owner = block.parent_op()
            known = self._blocks[id(block)] = owner is not None and self.has(owner)
        return known


@dataclass(slots=True)
class Changes:
    """The ops of a module that have changed, by id."""

    membership: Membership
    touched: dict[int, Operation] = field(default_factory=dict[int, Operation])  # new, moved, or with another field
    attributes: list[Operation] = field(default_factory=list[Operation])  # with other attributes
    order: bool = False  # ops were inserted, moved or erased

    @staticmethod
    def of(module: ModuleOp, log: EditLog) -> Changes:
        """Return the ops that were edited, and those to which the edit of another op, block or region matters."""
        changes = Changes(Membership(module), order=bool(log.placed))
        values = list(log.values)
        for node in log.placed.values():
            changes._touch_placed(node, values)
        changes.touch(map(_op_of, log.written.values()))
        changes.touch(_op_of(value.owner) for value in log.values)
        for value in values:
            changes.touch(use.operation for use in value.uses)
        ends = [op.parent_op() for op in changes.touched.values() if op.parent is not None and op.parent.last_op is op]
        changes.touch(ends)
        has = changes.membership.has
        changes.attributes = [op for op in cast("Iterable[Operation]", log.attributes.values()) if has(op)]
        return changes

    def touch(self, ops: Iterable[Operation | None]) -> None:
        """Add those ops to the touched ones that are in the module."""
        has, touched = self.membership.has, self.touched
        for op in ops:
            if op is not None and id(op) not in touched and has(op):
                touched[id(op)] = op

    def _touch_placed(self, node: Node, values: list[SSAValue]) -> None:
        """Touch the ops in a node that was inserted or moved. Add values to `values` whose users may be invalid now."""
        if isinstance(node, Operation):
            values += node.results
            if id(node) in self.touched or not self.membership.has(node):
                return
            self.touched[id(node)] = node
            if node.regions:
                self.touched.update((id(op), op) for op in pre_order(node))
            return
        blocks = node.blocks if isinstance(node, Region) else (node,)
        self.touch((_op_of(node),))
        for block in blocks:
            values += block.args
            for op in ops_in(block):
                self._touch_placed(op, values)


def _op_of(node: Node) -> Operation | None:
    """Return the op that a change of a node is a change of."""
    match node:
        case Block():
            return node.parent_op()
        case Region():
            return node.parent
        case _:
            return node
