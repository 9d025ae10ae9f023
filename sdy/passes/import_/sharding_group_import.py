"""Join sharding groups that share a value, and number them from 0.

    before  group 50 {a, c}, group 7 {b}, group 3 {c, a}
    after   group 0 {a, c}, group 1 {b}

Ensures: a value is in one group at most, once. Source: docs/spec/04, 2.9.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.ops import ShardingGroupOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order, op_order


@dataclass(frozen=True)
class ShardingGroupImportPass(ModulePass):
    """Join and renumber sharding groups."""

    name = "sdy-sharding-group-import"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check, join, renumber, drop what is said twice."""
        groups = op_order(op).of(ShardingGroupOp)
        if not groups:
            keep_order(op)
        _check(groups)
        numbers = joined_groups([(group.input, group.group_id.value.data) for group in groups])
        seen: set[tuple[SSAValue, int]] = set()
        for group in groups:
            number = numbers[group.group_id.value.data]
            if (group.input, number) in seen:
                erase(group)
            else:
                seen.add((group.input, number))
                group.group_id = IntegerAttr(number, i64)


def joined_groups(memberships: list[tuple[SSAValue, int]]) -> dict[int, int]:
    """The number that each group gets, given who is in which in program order.

    Of joined groups the one that came first on the first value leads; leaders are numbered as they are first named.
    """
    leader = {group: group for _, group in memberships}
    groups_of: dict[SSAValue, list[int]] = {}
    for value, group in memberships:
        groups_of.setdefault(value, []).append(group)
    for groups in groups_of.values():
        for group in groups:
            first, other = leader[groups[0]], leader[group]
            leader = {name: first if its_leader == other else its_leader for name, its_leader in leader.items()}
    numbers: dict[int, int] = {}
    for group in leader:
        if leader[group] == group:
            numbers[group] = len(numbers)
    return {group: numbers[leader[group]] for group in leader}


def _check(groups: list[ShardingGroupOp]) -> None:
    first: dict[int, ShardingGroupOp] = {}
    for group in groups:
        number = group.group_id.value.data
        other = first.setdefault(number, group)
        ours, theirs = static_shape(group.input.type), static_shape(other.input.type)
        if _manual_computation(group) is not _manual_computation(other):
            raise SdyError(_conflict(group, other, f"sharding group {number} spans manual computations", "SDY-T108"))
        if ours != theirs:
            message = f"sharding group {number} has tensors of shapes {theirs} and {ours}"
            raise SdyError(_conflict(group, other, message, "SDY-T109"))


def _conflict(group: ShardingGroupOp, other: ShardingGroupOp, message: str, code: str) -> Diagnostic:
    note = Note("the group is first used here", span_of(other))
    return Diagnostic(code, message, span_of(group), notes=(note,))


def _manual_computation(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ManualComputationOp):
        parent = parent.parent_op()
    return parent
