"""Remove all-gathers before dots, and reduce-scatters after them, for a later collective matmul.

    before  %0 = sdy.all_gather [{"a"}, {}] %x ...           %1 = stablehlo.dot %0, %y
    after   %1 = stablehlo.dot %x, %y

Requires: explicit collectives. Source: docs/spec/04, 4.17.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.collectives import AllGatherOp, ReduceScatterOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.passes.rewriting.insertion import erase


class RemoveForCmv1Pass(ModulePass):
    """Remove the all-gathers of dot operands, or else the reduce-scatters of dot results."""

    name = "sdy-remove-all-gather-reduce-scatter-for-cmv1"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find the collectives to remove around all dots, then remove them."""
        marked = [each for dot in pre_order(op) if isinstance(dot, DotOp | DotGeneralOp) for each in _removable(dot)]
        for each in marked:
            replace_uses(each.result, each.tensor)
            erase(each)


def _removable(dot: DotOp | DotGeneralOp) -> list[AllGatherOp | ReduceScatterOp]:
    """Return the all-gathers used by `dot` only; else the reduce-scatter that is its only user."""
    owners = dict.fromkeys((dot.lhs.owner, dot.rhs.owner))
    gathers = [owner for owner in owners if isinstance(owner, AllGatherOp) and owner.result.has_one_use()]
    if gathers:
        return [*gathers]
    user = dot.result.get_user_of_unique_use()
    sharding = sharding_of(dot.result)
    if not isinstance(user, ReduceScatterOp) or sharding is None or sharding.unreduced:
        return []
    set_sharding(dot.result, user.out_sharding.data)
    return [user]
