"""The memory that the values of a block leave free, for a rewrite that keeps values longer to send them once."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.memory import PeakFinder, bytes_of_tensor

_GROWTH = 32  # the peak may grow by one part of these for what is sent once


class FreeMemory:
    """The memory that is free at each op of a block: up to the peak of the block, and a little more."""

    def __init__(self, block: Block, peaks: PeakFinder) -> None:
        peak = peaks.of_block(block).bytes
        peak += peak // _GROWTH
        self._free = [peak - use.most for use in peaks.uses(block)]
        self._position = {op: number for number, op in enumerate(block.ops)}
        self._block = block

    def keep(self, value: SSAValue, until: Operation) -> bool:
        """Reserve memory for a value from its last use to an op, and return True; False if there is too little."""
        users = (value.owner, *(use.operation for use in value.uses))
        return self._reserve(bytes_of_tensor(value), max(map(self._position_of, users)), self._position[until])

    def keep_from(self, size: int, first: Operation, until: Operation) -> bool:
        """Reserve memory for `size` bytes between two ops, and return True; False if there is too little."""
        return self._reserve(size, self._position[first], self._position[until])

    def _reserve(self, size: int, first: int, last: int) -> bool:
        span = range(first + 1, last)
        if any(self._free[number] < size for number in span):
            return False
        for number in span:
            self._free[number] -= size
        return True

    def _position_of(self, user: Operation | Block) -> int:
        """Return the position of the op of the block that uses a value, perhaps in a region of its own."""
        while user.parent is not self._block:
            outer = user.parent_op()
            assert outer is not None  # values of a block are used in it
            user = outer
        assert isinstance(user, Operation)
        return self._position[user]
