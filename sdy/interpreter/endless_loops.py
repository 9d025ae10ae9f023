"""Detection of loops that never end, because the values that decide whether a loop goes on repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, BlockArgument, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.kernel import leaf_count


def deciding_values(loop: WhileOp) -> Sequence[int] | None:
    """Return which of the values that a loop carries decide whether it goes on, in any iteration.

    They are all that the condition is computed from, in this iteration or by the body in the one before. Returns None
    if an op with a side effect decides, which may return something else in each iteration, or if there are tuples.
    """
    if any(leaf_count(operand.type) != 1 for operand in loop.operands):
        return None
    found: set[int] = set()
    following = _arguments_for(loop.cond.block, terminator_of(loop.cond).operands)
    while following is not None and not following <= found:
        found |= following
        carried = terminator_of(loop.body).operands
        following = _arguments_for(loop.body.block, [carried[index] for index in found])
    return None if following is None else sorted(found)


def _arguments_for(block: Block, values: Iterable[SSAValue]) -> set[int] | None:
    """Return the arguments of a block from which some of its values are computed; None if ops have side effects."""
    arguments: set[int] = set()
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument) and value.block is block:
            arguments.add(value.index)
        elif isinstance(value, OpResult) and value.op.parent is block:
            if not is_side_effect_free(value.op):
                return None
            pending += [operand for op in value.op.walk() for operand in op.operands]
    return arguments


class Repetition:
    """Tells whether arrays are those of an earlier iteration: a few of these are remembered, so that any cycle ends."""

    def __init__(self) -> None:
        self._remembered: Sequence[Array] | None = None
        self._count, self._next = 0, 1

    def has(self, arrays: Sequence[Array]) -> bool:
        """Return whether the arrays of this iteration are those that are remembered."""
        if self._remembered is not None and all(map(_are_same, arrays, self._remembered)):
            return True
        self._count += 1
        if self._count == self._next:  # 1, 2, 4, ...: a cycle is found once an iteration in it is remembered
            self._remembered, self._next = arrays, 2 * self._next
        return False


def _are_same(one: Array, other: Array) -> bool:
    """Return whether two arrays have the same bits."""
    return one is other or (one.shape == other.shape and one.tobytes() == other.tobytes())
