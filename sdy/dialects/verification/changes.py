"""The ops of a module that have changed, from a log of edits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.edit_log import EditLog
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
    attributes: list[Operation] = field(default_factory=list[Operation])  # others, with other attributes
    order: bool = False  # ops were inserted, moved or erased

    @staticmethod
    def of(module: ModuleOp, log: EditLog) -> Changes:
        """Return the ops that were edited, and those to which the edit of another op, block or region matters."""
        # The values of the log are copied, because another thread may edit another module at the same time.
        changes = Changes(Membership(module), order=bool(log.placed or log.placed_containers))
        placed, values = list(log.placed.values()), list(log.values)
        for container in list(log.placed_containers.values()):
            for block in container.blocks if isinstance(container, Region) else (container,):
                values += block.args
                placed += ops_in(block)
                values += chain.from_iterable(op.results for op in ops_in(block))
        changes.touch(placed)
        for op in placed:
            if op.regions:
                changes.touch(pre_order(op))
        changes.touch(list(log.written.values()))
        changes.touch(map(_owner, [*log.containers.values(), *log.placed_containers.values()]))
        changes.touch(map(op_of, list(log.values)))
        changes.touch(use.operation for value in values for use in value.uses)
        ends = [op.parent_op() for op in changes.touched.values() if op.parent is not None and op.parent.last_op is op]
        changes.touch(ends)
        others = (op for key, op in list(log.attributes.items()) if key not in changes.touched)
        changes.attributes = list(filter(changes.membership.has, others))
        return changes

    def touch(self, ops: Iterable[Operation | None]) -> None:
        """Add those ops to the touched ones that are in the module."""
        has, touched = self.membership.has, self.touched
        for op in ops:
            if op is not None and id(op) not in touched and has(op):
                touched[id(op)] = op


def _owner(container: Block | Region) -> Operation | None:
    return container.parent if isinstance(container, Region) else container.parent_op()
