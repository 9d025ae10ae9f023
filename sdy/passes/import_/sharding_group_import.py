"""Merge sharding groups that share a value, and number them from 0.

    before  group 50 {a, c}, group 7 {b}, group 3 {c, a}
    after   group 0 {a, c}, group 1 {b}

Ensures: each value is in at most one group, and is listed once. Source: docs/spec/04, 2.9.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.ops import ShardingGroupOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order, op_order


class ShardingGroupImportPass(ModulePass):
    """Merge and renumber sharding groups."""

    name = "sdy-sharding-group-import"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check, merge and renumber the groups; erase duplicate memberships."""
        groups = op_order(op).of(ShardingGroupOp)
        if not groups:
            keep_order(op)
        _check(groups)
        numbers = merged_group_numbers([(group.input, group.group_id.value.data) for group in groups])
        seen: set[tuple[SSAValue, int]] = set()
        for group in groups:
            number = numbers[group.group_id.value.data]
            if (group.input, number) in seen:
                erase(group)
            else:
                seen.add((group.input, number))
                group.group_id = IntegerAttr(number, i64)


def merged_group_numbers(memberships: list[tuple[SSAValue, int]]) -> dict[int, int]:
    """Return the new number of each group, given the memberships in program order.

    Merged groups are represented by the group that first occurred on their first value; representatives are numbered in
    the order of their first occurrence.
    """
    representative_of = {group: group for _, group in memberships}
    groups_of: dict[SSAValue, list[int]] = {}
    for value, group in memberships:
        groups_of.setdefault(value, []).append(group)
    for groups in groups_of.values():
        for group in groups:
            first, other = representative_of[groups[0]], representative_of[group]
            representative_of = {
                name: first if its_leader == other else its_leader for name, its_leader in representative_of.items()
            }
    numbers: dict[int, int] = {}
    for group in representative_of:
        if representative_of[group] == group:
            numbers[group] = len(numbers)
    return {group: numbers[representative_of[group]] for group in representative_of}


def _check(groups: list[ShardingGroupOp]) -> None:
    first: dict[int, ShardingGroupOp] = {}
    for group in groups:
        number = group.group_id.value.data
        other = first.setdefault(number, group)
        ours, theirs = static_shape(group.input.type), static_shape(other.input.type)
        if enclosing(group, ManualComputationOp) is not enclosing(other, ManualComputationOp):
            raise SdyError(
                _conflict(
                    group, other, f"sharding group {number} must not span different manual computations", "SDY-T108"
                )
            )
        if ours != theirs:
            types = f"{other.input.type} and {group.input.type}"
            message = f"members of sharding group {number} must have the same shape, got {types}"
            raise SdyError(_conflict(group, other, message, "SDY-T109"))


def _conflict(group: ShardingGroupOp, other: ShardingGroupOp, message: str, code: str) -> Diagnostic:
    note = Note("the group is first used here", span_of(other))
    return Diagnostic(code, message, span_of(group), notes=(note,))
