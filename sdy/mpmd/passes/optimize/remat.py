"""Repeat forward fragments before the backward fragments that use them. Source: docs/spec/08, 3.9."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp

from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.mpmd.dialect.ops import CALL_COUNTER
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragment_facts import REMAT, is_backward, is_forward, next_on_mesh
from sdy.mpmd.passes.tools.fragments import fragments_of, merge
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import positions_in, replace_uses_by, users_of_op
from sdy.passes.rewriting.insertion import insert_before


@dataclass(frozen=True)
class RematFragmentPass(FunctionPass):
    """Compute the results of a forward fragment again for its backward fragment, instead of keeping them."""

    name = "mpmd-remat-fragment"

    merge_remat_fragments: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert a copy of each forward fragment right before a backward fragment that does not follow at once."""
        for forward in [each for each in fragments_of(func) if is_forward(each)]:
            positions = positions_in(func.body.block)
            users = {user for user in users_of_op(forward) if isinstance(user, FragmentOp)}
            for backward in sorted(users, key=positions.__getitem__):
                if _needs_copy(forward, backward):
                    self._repeat(forward, backward)

    def _repeat(self, forward: FragmentOp, backward: FragmentOp) -> None:
        copy = copy_with_regions(forward)
        insert_before(backward, copy)
        copy.location = forward.location
        for result, again in zip(forward.results, copy.results, strict=True):
            replace_uses_by(result, again, [backward])
        if self.merge_remat_fragments:
            kept = {REMAT: UnitAttr(), CALL_COUNTER: backward.attributes[CALL_COUNTER]}
            merge(copy, backward, kept)
        else:
            copy.attributes[REMAT] = UnitAttr()


def _needs_copy(forward: FragmentOp, backward: FragmentOp) -> bool:
    counters = forward.call_counter, backward.call_counter
    return (
        is_backward(backward)
        and counters[0] is not None
        and counters[0] == counters[1]
        and forward.stage == backward.stage
        and next_on_mesh(forward) is not backward
    )
