"""The ops of a module that have changed, from a log of edits."""

# pyright: reportPrivateUsage=false
# Links between ops are read from private fields, as in `sdy.dialects.ir.walk`: most of the time is spent on such loops.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.edit_log import EditLog
from sdy.dialects.ir.walk import ops_in, pre_order
from sdy.dialects.verification.op_checks import is_verified_by_signature


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

    def inside(self, ops: Iterable[Operation]) -> dict[int, Operation]:
        """Return those of the ops that are in the module, by id."""
        blocks, has, found = self._blocks, self.has, dict[int, Operation]()
        for op in ops:
            known = blocks.get(id(op.parent))  # without a call for each op
            if known or (known is None and has(op)):
                found[id(op)] = op
        return found


@dataclass(slots=True)
class Changes:
    """The ops of a module that have changed, by id. Those with other attributes may be outside of the module."""

    membership: Membership
    touched: dict[int, Operation] = field(default_factory=dict[int, Operation])  # new, moved, or with another field
    attributes: list[Operation] = field(default_factory=list[Operation])  # others, with other attributes
    placed: list[Operation] = field(default_factory=list[Operation])  # the touched ones that were inserted or moved
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
                placed += (ops := ops_in(block))
                for op in ops:
                    values += op.results
        for op in list(placed):
            if op.regions:
                placed += pre_order(op)
        changes.touched = changes.membership.inside(placed)
        changes.placed = list(changes.touched.values())
        changes.touch(list(log.written.values()))
        changes.touch([op for op in log.reduced.values() if not is_verified_by_signature(type(op))])
        changes.touch(map(_owner, [*log.containers.values(), *log.placed_containers.values()]))
        changes.touch(map(op_of, list(log.values)))
        changes.touch(_users(values))
        touched = changes.touched
        changes.touch([op.parent_op() for op in touched.values() if op._next_op is None])
        changes.attributes = [op for key, op in list(log.attributes.items()) if key not in touched]
        return changes

    def touch(self, ops: Iterable[Operation | None]) -> None:
        """Add those ops to the touched ones that are in the module."""
        touched = self.touched
        touched |= self.membership.inside(op for op in ops if op is not None and id(op) not in touched)


def _owner(container: Block | Region) -> Operation | None:
    return container.parent if isinstance(container, Region) else container.parent_op()


def _users(values: Iterable[SSAValue]) -> list[Operation]:
    users: list[Operation] = []
    for value in values:
        use = value.first_use
        while use is not None:
            users.append(use.operation)
            use = use._next_use
    return users
