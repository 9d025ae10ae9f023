"""How the partial results of an op combine when its reduction dims are cut. Source: spec of reshards, section 1.15."""

from __future__ import annotations

from xdsl.ir import Operation, Region

from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp, MinimumOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.model.sharding import ReductionKind

KIND_OF_BODY: dict[type[Operation], ReductionKind] = {
    AddOp: ReductionKind.SUM,
    MaximumOp: ReductionKind.MAX,
    MinimumOp: ReductionKind.MIN,
}


def reduction_kind(op: Operation) -> ReductionKind | None:
    """The kind of all-reduce that completes the op; None where none does.

    Only a `reduce` has a choice, by its body; every other op with reduction dims adds.
    """
    return body_kind(op.body) if isinstance(op, ReduceOp) else ReductionKind.SUM


def body_kind(body: Region) -> ReductionKind | None:
    """The kind of a body that is one op on its two arguments."""
    first, last = body.block.first_op, body.block.last_op
    if first is None or last is None or first.next_op is not last or tuple(last.operands) != tuple(first.results):
        return None
    if set(first.operands) != set(body.block.args):
        return None
    return KIND_OF_BODY.get(type(first))
