"""Reduction kinds: how the partial results of an op combine if its reduction dims are sharded.

Source: docs/spec/05, 1.15.
"""

from __future__ import annotations

from xdsl.ir import Operation, Region

from sdy.dialects.facts.traits import as_combiner, combiners_of
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.model.sharding import ReductionKind

ReductionKinds = tuple[ReductionKind, ...]  # one per result


def reduction_kinds(op: Operation) -> ReductionKinds | None:
    """Return for each result the kind of all-reduce that completes it, None if no kind does.

    The body of a `reduce` or `scatter` determines the kind; every other op with reduction dims adds.
    """
    if isinstance(op, ReduceOp):
        return body_kinds(op.body)
    if isinstance(op, ScatterOp):
        return body_kinds(op.update_computation)
    return (ReductionKind.SUM,) * len(op.results)


def body_kinds(body: Region) -> ReductionKinds | None:
    """Return the reduction kinds of a body, None if some result is not one op on its two arguments."""
    kinds: list[ReductionKind] = []
    for argument, op_class in zip(body.block.args, combiners_of(body.block) or (), strict=False):
        combiner = as_combiner(op_class)
        kind = None if combiner is None else combiner.kind_for(element_type_of(argument))
        if kind is None:
            return None
        kinds.append(kind)
    return tuple(kinds) or None
