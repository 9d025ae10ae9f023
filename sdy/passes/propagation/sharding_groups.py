"""Sharding groups of a module: their members, and the sharding that the members start from. Source: docs/spec/02, 7."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.ops import ShardingConstraintOp, ShardingGroupOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.grammar.write import write_sharding
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open_like
from sdy.passes.rewriting.insertion import after_definition, insert, location_of, redirect_other_uses
from sdy.passes.rewriting.op_order import op_order

Members = list[SSAValue]
Warn = Callable[[Diagnostic], None]


def groups_of(module: ModuleOp) -> dict[int, Members]:
    """Return the members of each group in program order, with groups in the order of their ids.

    Raises: SdyError SDY-T104 if a value is in two groups.
    """
    groups: dict[int, Members] = {}
    group_of: dict[SSAValue, int] = {}
    for op in op_order(module).of(ShardingGroupOp):
        number = op.group_id.value.data
        if group_of.setdefault(op.input, number) != number:
            message = f"value must be in at most one sharding group, got groups {group_of[op.input]} and {number}"
            raise SdyError(Diagnostic("SDY-T104", message, span_of(op), hint="run -sdy-sharding-group-import first"))
        members = groups.setdefault(number, [])
        if op.input not in members:
            members.append(op.input)
    return {number: groups[number] for number in sorted(groups)}


def synchronize(groups: dict[int, Members], warn: Warn) -> None:
    """Give all members of each group the same initial sharding.

    If members have conflicting shardings, insert an open constraint on each, which replaces it in the group.
    """
    for number, members in groups.items():
        if len(members) < 2:
            continue
        shardings = [sharding for sharding in map(sharding_of, members) if _constrains_a_dim(sharding)]
        first = shardings[0] if shardings else None
        other = next((sharding for sharding in shardings if sharding != first), None)
        if first is not None and other is not None:
            warn(_warning(number, members[0], first, other))
            members[:] = [_constrained(member, fully_open_like(first)) for member in members]
        elif first is not None:
            for member in members:
                set_sharding(member, first)


def _warning(number: int, member: SSAValue, first: TensorSharding, other: TensorSharding) -> Diagnostic:
    message = (
        f"members of sharding group {number} have different initial shardings, {write_sharding(first)} and "
        f"{write_sharding(other)}; inserting an open sharding constraint on each"
    )
    op = op_of(member)
    return Diagnostic("SDY-T105", message, None if op is None else span_of(op), severity=Severity.WARNING)


def _constrained(member: SSAValue, sharding: TensorSharding) -> SSAValue:
    constraint = insert(ShardingConstraintOp(member, sharding), after_definition(member), location_of(member))
    redirect_other_uses(member, constraint.result)
    return constraint.result


def _constrains_a_dim(sharding: TensorSharding | None) -> TypeGuard[TensorSharding]:
    """Return whether a member's sharding constrains the group: some dim is sharded or closed."""
    return sharding is not None and any(dim.axes or dim.is_closed for dim in sharding.dims)
