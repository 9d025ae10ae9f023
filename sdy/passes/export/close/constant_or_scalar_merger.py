"""Merge what the splitter duplicated: equal constants, and equal broadcasts of a scalar, in one region.

    before  %0 = sdy.constant dense<1.0>  %1 = sdy.constant dense<1.0>     with equal shardings
    after   %0 = sdy.constant dense<1.0>

Source: docs/spec/04, 4.1.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import nth_result, operands_of, replace_uses, type_of
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.passes.import_.constant_expressions import is_scalar_broadcast
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order_without, op_order


class ConstantOrScalarMergerPass(ModulePass):
    """Merge equal constants and scalar broadcasts."""

    name = "sdy-constant-or-scalar-merger"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace equal ops by the first of them."""
        first: dict[tuple[object, ...], Operation] = {}
        numbers = _Numbers()
        erased: list[Operation] = []
        order = op_order(op)
        broadcasts = [inner for inner in order.of(BroadcastInDimOp) if is_scalar_broadcast(inner)]
        for inner in (*order.of(ConstantOp), *order.of(StablehloConstantOp), *broadcasts):
            kept = first.setdefault(numbers.key(inner), inner)
            if kept is not inner:
                replace_uses(nth_result(inner), nth_result(kept))
                erase(inner)
                erased.append(inner)
        keep_order_without(op, erased)


class _Numbers:
    """Assigns numbers to attributes, equal for equal ones; lookup by id() hashes the elements of a constant once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[int, Attribute]] = {}  # kept alive, so that no new attribute gets its id
        self._by_value: dict[Attribute, int] = {}

    def key(self, op: Operation) -> tuple[object, ...]:
        """Return a key that is equal for equal ops."""
        result_type = self._number(type_of(nth_result(op)))
        return (
            type(op),
            op.parent_region(),
            operands_of(op),
            result_type,
            self._numbered(op.properties),
            self._numbered(op.attributes),
        )

    def _numbered(self, attributes: dict[str, Attribute]) -> tuple[tuple[str, int], ...]:
        numbered = [(name, self._number(attribute)) for name, attribute in attributes.items()]
        return tuple(sorted(numbered) if len(numbered) > 1 else numbered)

    def _number(self, attribute: Attribute) -> int:
        known = self._by_identity.get(id(attribute))
        if known is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            known = self._by_identity[id(attribute)] = number, attribute
        return known[0]
