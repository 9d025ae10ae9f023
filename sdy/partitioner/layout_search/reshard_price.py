"""Estimate the price of a reshard by slices, one permute, one all-to-all and one all-gather.

    source slot  target slot
    empty        digit           a slice, which costs nothing; or the digit moves there
    digit        empty           the digit moves to another slot, or is gathered
    digit        other digit     a permute puts all such digits in position

The planner may find a cheaper plan, but only if the last case occurs: see docs/how-bytes-are-saved.md.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest
from math import prod

from sdy.model.numbered_digits import DigitsPerDim
from sdy.model.shape import StaticShape
from sdy.partitioner.layout_search.layout import used


@lru_cache(maxsize=65536)
def reshard_price(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> tuple[float, int]:
    """Return the elements that each device receives, in source shards, and the number of collectives."""
    taken = used(source)
    sliced = moved = left = conflicts = 1
    for own, required in zip(source, target, strict=True):
        for held, target_digit in zip_longest(own, required):
            if held == target_digit:
                continue
            if held is None and target_digit not in taken:
                sliced *= sizes[target_digit]
            elif held is None:
                moved *= sizes[target_digit]
            elif target_digit is None:
                left *= sizes[held]
            else:
                conflicts *= sizes[held]
    before, after = (prod(sizes[digit] for digits in dims for digit in digits) for dims in (source, target))
    received = before / after * (1 - 1 / left)
    steps = (moved > 1) + (left > moved)
    if conflicts == 1:
        return received, steps
    permuted = 1 / sliced + received, 1 + steps
    gathered = float(left * conflicts - 1), 1
    return min(permuted, gathered) if moved == 1 else permuted
