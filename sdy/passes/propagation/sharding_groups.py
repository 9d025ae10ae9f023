"""Sharding groups of a module: who is in which, and how they start. Source: docs/spec/02, 7."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import ShardingConstraintOp, ShardingGroupOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.grammar.write import write_sharding
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open_like
from sdy.passes.rewriting.op_order import op_order
from sdy.propagation.groups import common_sharding, first_conflict

Members = list[SSAValue]
Warn = Callable[[Diagnostic], None]


def groups_of(module: ModuleOp) -> dict[int, Members]:
    """The members of each group in program order, groups in the order of their ids.

    Raises: SdyError SDY-T104 where a value is in two groups.
    """
    groups: dict[int, Members] = {}
    group_of: dict[SSAValue, int] = {}
    for op in op_order(module).of(ShardingGroupOp):
        number = op.group_id.value.data
        if group_of.setdefault(op.input, number) != number:
            message = f"a value is in the sharding groups {group_of[op.input]} and {number}"
            raise SdyError(Diagnostic("SDY-T104", message, span_of(op), hint="run -sdy-sharding-group-import first"))
        members = groups.setdefault(number, [])
        if op.input not in members:
            members.append(op.input)
    return {number: groups[number] for number in sorted(groups)}


def synchronise(groups: dict[int, Members], warn: Warn) -> None:
    """Give the members of each group the sharding that they agree on.

    Members that contradict each other get an open constraint each, which takes their place in the group.
    """
    for number, members in groups.items():
        if len(members) < 2:
            continue
        shardings = [sharding_of(member) for member in members]
        conflict = first_conflict(shardings)
        common = common_sharding(shardings)
        if conflict is not None:
            warn(_warning(number, members[0], conflict))
            members[:] = [_constrained(member, fully_open_like(conflict[0])) for member in members]
        elif common is not None:
            for member in members:
                set_sharding(member, common)


def _warning(number: int, member: SSAValue, conflict: tuple[TensorSharding, TensorSharding]) -> Diagnostic:
    first, other = (write_sharding(sharding) for sharding in conflict)
    message = (
        f"the members of sharding group {number} start with different shardings, {first} and {other}; "
        "each gets an open sharding constraint"
    )
    op = op_of(member)
    return Diagnostic("SDY-T105", message, None if op is None else span_of(op), severity=Severity.WARNING)


def _constrained(member: SSAValue, sharding: TensorSharding) -> SSAValue:
    owner = member.owner
    constraint = ShardingConstraintOp.create(
        operands=[member], result_types=[member.type], properties={"sharding": TensorShardingAttr(sharding)}
    )
    if isinstance(owner, Operation):
        constraint.location = owner.location
        Rewriter.insert_op(constraint, InsertPoint.after(owner))
    else:
        _insert_at_start(owner, constraint)
    member.replace_uses_with_if(constraint.result, lambda use: use.operation is not constraint)
    return constraint.result


def _insert_at_start(block: Block, op: Operation) -> None:
    parent = block.parent_op()
    if parent is not None:
        op.location = parent.location
    Rewriter.insert_op(op, InsertPoint.at_start(block))
