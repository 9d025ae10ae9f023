"""The trip count of a loop, if it is known statically.

Supported are loops like `for i in range(start, stop, step)`, as `jax.lax.scan` and `fori_loop` are lowered.
"""

from __future__ import annotations

from math import ceil

from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import AddOp, CompareOp
from sdy.dialects.stablehlo.shape import ConstantOp


def trip_count(loop: WhileOp) -> int | None:
    """Return how often the body runs; None if the loop has no counter with constant bounds.

    The condition must compare the counter with a constant by LT or LE, and the body must add a constant to it.
    """
    test = loop.cond.block.last_op
    compare = None if test is None else test.operands[0].owner
    if not isinstance(compare, CompareOp) or not isinstance(compare.lhs, BlockArgument):
        return None
    counter = compare.lhs.index
    start = _constant(loop.operands[counter])
    stop = _bound(loop, compare.rhs)
    step = _step(loop, counter)
    if start is None or stop is None or step is None or step <= 0:
        return None
    match compare.comparison_direction.data:
        case ComparisonDirection.LT:
            return max(0, ceil((stop - start) / step))
        case ComparisonDirection.LE:
            return max(0, (stop - start) // step + 1)
        case _:
            return None


def _bound(loop: WhileOp, value: SSAValue) -> int | None:
    """Return a constant, or the initial constant of a value that the loop carries unchanged; otherwise None."""
    if isinstance(value, BlockArgument) and value.owner is loop.cond.block:
        body, terminator = loop.body.block, loop.body.block.last_op
        is_invariant = terminator is not None and terminator.operands[value.index] is body.args[value.index]
        return _constant(loop.operands[value.index]) if is_invariant else None
    return _constant(value)


def _step(loop: WhileOp, counter: int) -> int | None:
    body, terminator = loop.body.block, loop.body.block.last_op
    add = None if terminator is None else terminator.operands[counter].owner
    if not isinstance(add, AddOp):
        return None
    sides = (add.lhs, add.rhs)
    others = [side for side in sides if side is not body.args[counter]]
    return _constant(others[0]) if len(others) == 1 else None


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, ConstantOp | SdyConstantOp) or shape_of(value) != ():
        return None
    literal = owner.value
    (number,) = literal.get_values() if isinstance(literal, DenseElementsAttr) else (None,)
    return number if isinstance(number, int) else None
