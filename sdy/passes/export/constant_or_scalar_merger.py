"""Merge what the splitter split: equal constants, and equal repetitions of a scalar, of one region.

    before  %0 = sdy.constant dense<1.0>  %1 = sdy.constant dense<1.0>     with equal shardings
    after   %0 = sdy.constant dense<1.0>

Source: spec of import and export, section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.dialects.unchecked import operands_of, replace_uses
from sdy.dialects.walk import post_order
from sdy.passes.import_.constant_expressions import is_scalar_broadcast
from sdy.passes.insertion import erase

MERGED = frozenset[type[Operation]]((ConstantOp, StablehloConstantOp, BroadcastInDimOp))


@dataclass(frozen=True)
class ConstantOrScalarMergerPass(ModulePass):
    """Merge equal constants and scalar broadcasts."""

    name = "sdy-constant-or-scalar-merger"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Keep the first of equal ops."""
        first: dict[tuple[object, ...], Operation] = {}
        for inner in post_order(op):
            if type(inner) not in MERGED or (type(inner) is BroadcastInDimOp and not is_scalar_broadcast(inner)):
                continue
            kept = first.setdefault(_key(inner), inner)
            if kept is not inner:
                replace_uses(inner.results[0], kept.results[0])
                erase(inner)


def _key(op: Operation) -> tuple[object, ...]:
    """What equal ops have in common."""
    return (
        type(op),
        op.parent_region(),
        operands_of(op),
        op.results[0].type,
        _sorted(op.properties),
        _sorted(op.attributes),
    )


def _sorted(attributes: dict[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    return tuple(sorted(attributes.items(), key=itemgetter(0)) if len(attributes) > 1 else attributes.items())
