"""The price of a reshard: the elements that its plan sends.

    source slot  target slot
    empty        digit           a slice, which costs nothing; or the digit moves there
    digit        empty           the digit moves to another slot, or is gathered
    digit        other digit     a conflict, for which the planner searches: see docs/how-bytes-are-saved.md

Without conflicts, a plan is slices, one all-to-all and one all-gather, whose price is known without planning.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest
from math import prod
from typing import NamedTuple

from sdy.model.collective import AllSlice
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.numbered_digits import DigitsPerDim, NumberedDigits
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import used
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import Reshape, collective_count, elements_received


@lru_cache(maxsize=65536)
def reshard_price(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> tuple[float, int]:
    """Return the elements that each device receives, in source shards, and the number of collectives.

    The shards are even. `sizes` are those of all digits.
    """
    taken = used(source)
    moved = left = 1
    for own, required in zip(source, target, strict=True):
        for held, target_digit in zip_longest(own, required):
            if held == target_digit:
                continue
            if held is None:
                moved *= sizes[target_digit] if target_digit in taken else 1
            elif target_digit is None:
                left *= sizes[held]
            else:
                planned = _planned(source, target, sizes)
                return planned.shards, planned.steps
    before, after = (prod(sizes[digit] for digits in dims for digit in digits) for dims in (source, target))
    return before / after * (1 - 1 / left), (moved > 1) + (left > moved)


def first_slices(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> DigitsPerDim:
    """Return the digits by which a reshard slices first, for each dim of the shape in which it does."""
    return _planned(source, target, sizes).sliced if used(target) - used(source) else ()


class _Planned(NamedTuple):
    """The price of a plan, as of `reshard_price`, and its first slices."""

    shards: float
    steps: int
    sliced: DigitsPerDim


@lru_cache(maxsize=65536)
def _planned(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> _Planned:
    """Plan the reshard of a tensor whose dims all shardings divide."""
    mesh = Mesh(tuple(MeshAxis(f"d{digit}", size) for digit, size in enumerate(sizes)))
    digits = NumberedDigits.full_axes(mesh)
    ends = [TensorSharding("mesh", tuple(DimSharding(digits.join(own)) for own in dims)) for dims in (source, target)]
    steps = plan(*ends, (mesh.device_count,) * len(source), mesh)
    first = next((step.action for step in steps if not isinstance(step.action, Reshape)), None)
    sliced = tuple(map(digits.inside, first.axes)) if isinstance(first, AllSlice) else ()
    shard = digits.elements((mesh.device_count,) * len(source), source)
    return _Planned(elements_received(steps, mesh) / shard, collective_count(steps), sliced)
