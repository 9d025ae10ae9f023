"""What a reshard costs, quickly: the price of slices, one permute, one all-to-all and one all-gather.

    slot that holds nothing, and wants an atom      it is cut there, for nothing; or the atom moves there
    slot that holds an atom, and wants nothing      the atom moves away, or is gathered
    slot that holds one atom, and wants another     a permute puts all such right

Whoever plans the reshard may do it for less, but only where atoms stand in each other's way: see docs/resharding.md.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest
from math import prod

from sdy.partitioner.layout_search.layout import Dims, Sizes, used


@lru_cache(maxsize=65536)
def reshard_price(source: Dims, target: Dims, sizes: Sizes) -> tuple[float, int]:
    """What each device receives, as a multiple of its shard before, and the number of collectives."""
    taken = used(source)
    cut = moved = left = conflicts = 1
    for own, wanted in zip(source, target, strict=True):
        for held, want in zip_longest(own, wanted):
            if held == want:
                continue
            if held is None and want not in taken:
                cut *= sizes[want]
            elif held is None:
                moved *= sizes[want]
            elif want is None:
                left *= sizes[held]
            else:
                conflicts *= sizes[held]
    before, after = (prod(sizes[atom] for cuts in dims for atom in cuts) for dims in (source, target))
    received = before / after * (1 - 1 / left)
    steps = (moved > 1) + (left > moved)
    if conflicts == 1:
        return received, steps
    permuted = 1 / cut + received, 1 + steps
    gathered = float(left * conflicts - 1), 1
    return min(permuted, gathered) if moved == 1 else permuted
