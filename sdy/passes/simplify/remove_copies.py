"""Remove ops that only copy their operand, such as a slice of all elements.

    before  %0 = slice %a [8:8, 0:4]    %1 = slice %a [0:8, 0:4]    %2 = concatenate %0, %1, dim = 0    %3 = negate %2
    after   %3 = negate %a

`jnp.roll` along one of two dims makes such ops for the other dim. If operand and result are sharded differently, the
copy becomes a reshard.
Requires: closed shardings.
"""

from __future__ import annotations

from typing import get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import insert, replace_by
from sdy.passes.rewriting.op_order import keep_order, op_order
from sdy.rules.all import RULE_ATTRIBUTE

# The ops that return their first operand in some cases, in which nothing moves or changes.
CopyingOp = ReshapeOp | ConvertOp | SliceOp | ConcatenateOp | PadOp | BroadcastInDimOp | TransposeOp | ReverseOp
# Their classes; other ops never return their operand, or are barriers and annotations that must stay.
MAY_COPY = frozenset[type[Operation]](get_args(CopyingOp))


class RemoveCopiesPass(ModulePass):
    """Remove ops whose result is their operand, and operands of concatenations that have no elements."""

    name = "sdy-remove-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the ops in program order, so that an op sees the original of a copy."""
        ops = op_order(op).ops
        changed = False
        for inner in [inner for inner in ops if type(inner) in MAY_COPY]:
            if isinstance(inner, ConcatenateOp):
                changed |= _drop_empty_operands(inner)
            source = copied_operand(inner)
            if source is not None:
                changed |= _replace(inner, source)
        if changed:
            erase_dead_ops([inner for inner in ops if type(inner) in MAY_COPY])
        else:
            keep_order(op)


def _drop_empty_operands(op: ConcatenateOp) -> bool:
    """Remove the operands without elements, unless all are empty; return whether there were any."""
    dim = op.dimension.value.data
    kept = [operand for operand in op.inputs if (static_shape(operand.type) or (1,) * (dim + 1))[dim]]
    if not kept or len(kept) == len(op.inputs):
        return False
    op.attributes.pop(RULE_ATTRIBUTE, None)  # the rule maps all operands
    op.operands = kept
    return True


def copied_operand(op: Operation) -> SSAValue | None:
    """Return the operand that an op returns unchanged; None if it changes or moves elements."""
    if not isinstance(op, CopyingOp) or op.operands[0].type != op.results[0].type:
        return None
    return op.operands[0] if _is_copy(op) else None


def _is_copy(op: CopyingOp) -> bool:
    """Return whether an op, whose result has the type of its first operand, returns that operand."""
    match op:
        case ReshapeOp() | ConvertOp():
            return True
        case SliceOp():  # of all elements, since the sizes are equal
            return static_shape(op.operand.type) is not None and set(ints_of(op.strides)) <= {1}
        case ConcatenateOp():
            return len(op.inputs) == 1
        case PadOp():
            return not any(map(any, map(ints_of, (op.edge_padding_low, op.edge_padding_high, op.interior_padding))))
        case BroadcastInDimOp():
            return _is_sequence(ints_of(op.broadcast_dimensions))
        case TransposeOp():
            return _is_sequence(ints_of(op.permutation))
        case ReverseOp():
            return not ints_of(op.dimensions)


def _is_sequence(dims: tuple[int, ...]) -> bool:
    return dims == tuple(range(len(dims)))


def _replace(op: Operation, source: SSAValue) -> bool:
    """Replace a copy by its operand, resharded if needed; return False if a reshard cannot express the copy."""
    result = op.results[0]
    before, after = sharding_of(source), sharding_of(result)
    if before != after:
        if before is None or after is None or before.mesh != after.mesh:
            return False
        source = insert(ReshardOp(source, after), InsertPoint.before(op), op.location).result
    replace_by(op, source)
    return True
