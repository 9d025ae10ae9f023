"""How the partial results of an op combine when its reduction dims are cut. Source: spec of reshards, section 1.15."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue

from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp, MinimumOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.model.sharding import ReductionKind

Kinds = tuple[ReductionKind, ...]  # one per result

KIND_OF_BODY: dict[type[Operation], ReductionKind] = {
    AddOp: ReductionKind.SUM,
    MaximumOp: ReductionKind.MAX,
    MinimumOp: ReductionKind.MIN,
}


def reduction_kinds(op: Operation) -> Kinds | None:
    """For each result the kind of all-reduce that completes it; None where there is no such kind.

    Only a `reduce` has a choice, by its body; every other op with reduction dims adds.
    """
    if isinstance(op, ReduceOp):
        return body_kinds(op.body)
    return (ReductionKind.SUM,) * len(op.results)


def body_kinds(body: Region) -> Kinds | None:
    """The kinds of a body each of whose results is one op on the two arguments for it."""
    terminator = body.block.last_op
    arguments = tuple(body.block.args)
    if terminator is None:
        return None
    kinds: list[ReductionKind] = []
    for returned, *pair in zip(terminator.operands, arguments, arguments[len(arguments) // 2 :], strict=False):
        kind = _kind_of(returned, pair)
        if kind is None:
            return None
        kinds.append(kind)
    return tuple(kinds)


def _kind_of(returned: SSAValue, arguments: Sequence[SSAValue]) -> ReductionKind | None:
    op = returned.owner
    if not isinstance(op, Operation) or set(op.operands) != set(arguments):
        return None
    return KIND_OF_BODY.get(type(op))
