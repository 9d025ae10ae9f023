"""The ops, regions and blocks of a module in program order, and the ops that have moved since they were listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from sdy.dialects.ir.walk import op_and_nested_ops, ops_in

_first_block: Callable[[Region], Block | None] = attrgetter("_first_block")
_next_block: Callable[[Block], Block | None] = attrgetter("_next_block")
_first_op: Callable[[Block], Operation | None] = attrgetter("_first_op")
_last_op: Callable[[Block], Operation | None] = attrgetter("_last_op")


@dataclass(frozen=True)
class OpTree:
    """The module and all ops inside it, each before those in its regions, and the links of their regions and blocks."""

    ops: list[Operation]
    regions: list[Region]
    blocks: list[Block]
    links: tuple[list[object], ...]
    parents: list[Block | None]  # of the ops
    owners: list[Operation | None]  # of the blocks
    last_ops: list[Operation | None]  # of the blocks

    @staticmethod
    def of(module: ModuleOp) -> OpTree:
        """Walk over the module."""
        ops, parents = list[Operation]([module]), list[Block | None]([None])
        regions, blocks = list[Region](), list[Block]()

        def collect(parent: Operation) -> None:
            for region in parent.regions:
                regions.append(region)
                for block in region.blocks:
                    blocks.append(block)
                    for op in ops_in(block):
                        ops.append(op)
                        parents.append(block)
                        if op.regions:
                            collect(op)

        collect(module)
        owners = [block.parent_op() for block in blocks]
        return OpTree(ops, regions, blocks, _links(regions, blocks), parents, owners, list(map(_last_op, blocks)))

    def has_same_links(self) -> bool:
        """Return whether regions contain the same blocks, and blocks begin with the same ops, as in the walk."""
        return _links(self.regions, self.blocks) == self.links

    @cached_property
    def rows(self) -> dict[int, int]:
        """The index in `ops` of each op, by id."""
        return dict(zip(map(id, self.ops), range(len(self.ops)), strict=True))

    @cached_property
    def ends(self) -> dict[int, list[tuple[int, int]]]:
        """The ids of the blocks in each op and of their last ops, by the id of the op."""
        ends: dict[int, list[tuple[int, int]]] = {}
        for block, owner, last_op in zip(self.blocks, self.owners, self.last_ops, strict=True):
            ends.setdefault(id(owner), []).append((id(block), id(last_op)))
        return ends

    @cached_property
    def owner_ids(self) -> dict[int, int]:
        """The id of the op that contains a block, by the id of the block."""
        return dict(zip(map(id, self.blocks), map(id, self.owners), strict=True))


def _links(regions: list[Region], blocks: list[Block]) -> tuple[list[object], ...]:
    """Return the links that determine a walk, together with the regions of each op and the op after it."""
    return (
        list(map(_first_block, regions)),
        list(map(_next_block, blocks)),
        list(map(_first_op, blocks)),
    )


def moved_ops(old: OpTree, new: OpTree, old_rows: list[int]) -> dict[int, Operation]:
    """Return new ops, ops in another block or possibly in another order, and all ops inside these, by id.

    `old_rows` are the rows of the ops of `new` in `old`, -1 for a new op.
    """
    other_blocks = {block for block, owner in new.owner_ids.items() if old.owner_ids.get(block) != owner}
    old_parents = [*old.parents, None]
    pairs = zip(new.ops, new.parents, map(old_parents.__getitem__, old_rows), strict=True)
    roots = [op for op, now, before in pairs if now is not before or id(now) in other_blocks]
    moved: dict[int, Operation] = {}
    for op in roots:
        if id(op) not in moved:
            moved.update((id(each), each) for each in op_and_nested_ops(op))
    if not _in_order(new.ops, old_rows, moved):
        # Functions may have another order; if the ops inside one do, all of them count as moved.
        for op in ops_in(new.blocks[0]):
            inside = op_and_nested_ops(op)[1:]
            if not _in_order(inside, [old_rows[new.rows[id(each)]] for each in inside], moved):
                moved.update((id(each), each) for each in inside)
    return moved


def _in_order(ops: Iterable[Operation], old_rows: list[int], moved: Collection[int]) -> bool:
    """Return whether the ops that have not moved are in their old order."""
    rows = old_rows
    if moved:
        rows = [row for op, row in zip(ops, old_rows, strict=True) if id(op) not in moved]
    return rows == sorted(rows)
