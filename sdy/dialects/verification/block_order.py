"""The order of the ops in each block, kept while ops are inserted, moved and erased."""

# pyright: reportPrivateUsage=false
# Links between ops are read from private fields, as in `sdy.dialects.ir.walk`: properties are function calls.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from xdsl.ir import Block, Operation

from sdy.dialects.ir.walk import ops_in

_LEAST_STEP = 2.0**-20  # between two numbers; an index below 2**32 with this step is exact


class BlockOrder:
    """Numbers of ops, which increase within a block. An op gets its number when its block is first asked for.

    If an op is inserted, it gets a number between those of its neighbours. If there is no room between these,
    all ops of the block are numbered again.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, float] = {}  # by the id of the op

    def forget(self, ids: Iterable[int]) -> None:
        """Forget the numbers of ops that were inserted, moved or erased, given their ids."""
        for key in ids:
            self._numbers.pop(key, None)

    def is_before(self, op: Operation, other: Operation) -> bool:
        """Return whether an op comes before another one of the same block."""
        numbers = self.numbers_with((op, other))
        return numbers[id(op)] < numbers[id(other)]

    def numbers_with(self, ops: Iterable[Operation]) -> Mapping[int, float]:
        """Return the numbers of all ops that have one, by id, after each of `ops` got one.

        The other ops in the blocks of these have numbers, too, unless they were forgotten.
        """
        numbers = self._numbers
        for op in ops:
            if id(op) not in numbers:
                self._number_run(op)
        return numbers

    def _number_run(self, op: Operation) -> None:
        """Number `op` and the ops around it that have no number either."""
        numbers, run = self._numbers, [op]
        before, after = op._prev_op, op._next_op
        while before is not None and id(before) not in numbers:
            run.append(before)
            before = before._prev_op
        run.reverse()
        while after is not None and id(after) not in numbers:
            run.append(after)
            after = after._next_op
        if before is not None and after is not None:
            low, high = numbers[id(before)], numbers[id(after)]
        elif after is not None:
            low, high = numbers[id(after)] - len(run) - 1, numbers[id(after)]
        else:
            low = 0.0 if before is None else numbers[id(before)]
            high = low + len(run) + 1
        step = (high - low) / (len(run) + 1)
        if step < _LEAST_STEP:
            assert op.parent is not None
            self._number_block(op.parent)
        else:
            for each in run:
                low += step
                numbers[id(each)] = low

    def _number_block(self, block: Block) -> None:
        self._numbers.update(zip(map(id, ops_in(block)), count(0.0), strict=False))
