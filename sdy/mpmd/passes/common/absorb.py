"""Merge what the compiler inferred into the user's fragments of called functions. Source: docs/spec/07, 6.1."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.mpmd.dialect.functions import is_entry_point, is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragments import inferred_by, inferring_passes, merge
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.greedy import rewrite_greedily
from sdy.mpmd.passes.tools.uses import (
    distinct,
    first_user_in_block,
    is_used,
    last_in_block,
    move_before,
    move_to_producer,
    producer,
    users_of_op,
)
from sdy.passes.rewriting.insertion import erase


@dataclass(frozen=True)
class AbsorbInferredFragmentsPass(FunctionPass):
    """Merge inferred fragments into the fragments that use them, or that they use."""

    name = "mpmd-absorb-inferred-fragments"
    ON = is_mpmd

    absorb_on_entry_point_function: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit a called function, or an entry point if the option includes it."""
        if self.absorb_on_entry_point_function or not is_entry_point(func):
            rewrite_greedily(func, (_absorb_producer, _absorb_consumer), merges_constants=True)


def _is_root(op: Operation) -> bool:
    """Return whether a fragment absorbs others: the user's, and those that no fragment uses, or that use none."""
    return isinstance(op, FragmentOp) and (
        op.is_user_fragment
        or not any(isinstance(user, FragmentOp) for user in users_of_op(op))
        or not any(isinstance(operand.owner, FragmentOp) for operand in op.operands)
    )


def _absorb_producer(op: Operation) -> list[Operation] | None:
    """Merge the first inferred fragment that defines an operand and that nothing before `op` uses.

    Transfers of its results are moved out of the way.
    """
    if not isinstance(op, FragmentOp) or not _is_root(op):
        return None
    candidates: list[FragmentOp] = []
    for source in distinct(operand.owner for operand in op.operands):
        if not isinstance(source, FragmentOp) or source.is_user_fragment:
            continue
        for transfer in distinct(user for user in users_of_op(source) if isinstance(user, TransferOp)):
            user = first_user_in_block(transfer)
            if user is None:
                erase(transfer)
            else:
                move_before(transfer, user)
        if first_user_in_block(source) is op:
            candidates.append(source)
    if not candidates:
        return None
    return _touched(merge(candidates[0], op, _attributes(op, candidates[0])))


def _absorb_consumer(op: Operation) -> list[Operation] | None:
    """Merge the first inferred fragment that uses `op` after all its other operands are defined."""
    if not isinstance(op, FragmentOp) or not _is_root(op):
        return None
    candidates: list[FragmentOp] = []
    for user in distinct(users_of_op(op)):
        if not isinstance(user, FragmentOp) or user.is_user_fragment:
            continue
        for transfer in distinct(producer(operand, TransferOp) for operand in user.operands):
            if transfer is not None:
                move_to_producer(transfer)
        sources = [operand.owner for operand in user.operands if isinstance(operand.owner, Operation)]
        if last_in_block(sources) is op:
            candidates.append(user)
    if not candidates:
        return None
    following = op.next_op
    if following is candidates[0]:
        following = candidates[0].next_op
    merged = merge(op, candidates[0], _attributes(op, candidates[0]))
    if following is not None:
        move_before(merged, following)
    return _touched(merged)


def _attributes(root: FragmentOp, absorbed: FragmentOp) -> dict[str, Attribute]:
    """Return the attributes of the root; an inferred one also lists the passes that made the absorbed fragment."""
    makers = inferring_passes(absorbed)
    if root.is_user_fragment or not makers:
        return dict(root.attributes)
    return {**root.attributes, **inferred_by(*distinct([*inferring_passes(root), *makers]))}


def _touched(merged: FragmentOp) -> list[Operation]:
    """Return the ops whose surroundings a merge changed."""
    sources = [operand.owner for operand in merged.operands if isinstance(operand.owner, Operation)]
    users = users_of_op(merged) if is_used(merged) else []
    return [*sources, *users, merged]
