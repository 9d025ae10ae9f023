"""The price of a reshard: the elements that its plan sends.

    source slot  target slot
    empty        digit           a slice, which costs nothing; or the digit moves there
    digit        empty           the digit moves to another slot, or is gathered
    digit        other digit     a conflict, for which the planner searches: see docs/how-bytes-are-saved.md

Without conflicts, a plan is slices, one all-to-all and one all-gather, whose price is known without planning.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from math import prod
from typing import NamedTuple

from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import DigitsPerDim, DigitTuple, NumberedDigits
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import used
from sdy.partitioner.reshard.plan import plan_price


@lru_cache(maxsize=65536)
def reshard_price(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> tuple[float, int]:
    """Return the elements that each device receives, in source shards, and the number of collectives.

    The shards are even. `sizes` are those of all digits.
    """
    if has_conflict(source, target):
        found = _with_conflict(*_renumbered(source, target, sizes)[:3])
        return found.shards, found.steps
    taken = used(source)
    moved = left = 1
    for own, required in zip(source, target, strict=True):
        moved *= prod(sizes[digit] for digit in required[len(own) :] if digit in taken)
        left *= prod(sizes[digit] for digit in own[len(required) :])
    before, after = (prod(sizes[digit] for digits in dims for digit in digits) for dims in (source, target))
    return before / after * (1 - 1 / left), (moved > 1) + (left > moved)


def first_slices(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> DigitsPerDim:
    """Return the digits by which a reshard slices first: those of adjacent slots together."""
    taken = used(source)
    if used(target) <= taken:
        return ()
    if has_conflict(source, target):
        *reshard, digits = _renumbered(source, target, sizes)
        return tuple(tuple(digits[number] for number in run) for run in _with_conflict(*reshard).sliced)
    added = [required[len(own) :] for own, required in zip(source, target, strict=True)]
    return tuple(
        tuple(run) for own in added for is_new, run in groupby(own, lambda digit: digit not in taken) if is_new
    )


def has_conflict(source: DigitsPerDim, target: DigitsPerDim) -> bool:
    """Return whether a slot holds a digit and must hold another one."""
    return any(
        own != required and own[: len(required)] != required[: len(own)]
        for own, required in zip(source, target, strict=True)
    )


def _renumbered(
    source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape
) -> tuple[DigitsPerDim, DigitsPerDim, StaticShape, DigitTuple]:
    """Return a reshard of the same price, with digits numbered by occurrence, and the digit of each number."""
    dims = sorted(pair for pair in zip(source, target, strict=True) if pair[0] or pair[1])
    occurring = dict.fromkeys(digit for pair in dims for own in pair for digit in own)
    digits = tuple(occurring | dict.fromkeys(sorted(range(len(sizes)), key=sizes.__getitem__)))
    number = {digit: index for index, digit in enumerate(digits)}
    before, after = (tuple(tuple(number[digit] for digit in pair[end]) for pair in dims) for end in (0, 1))
    return before, after, tuple(sizes[digit] for digit in digits), digits


class _Planned(NamedTuple):
    """A price as of `reshard_price`, and the first slices."""

    shards: float
    steps: int
    sliced: DigitsPerDim


@lru_cache(maxsize=65536)
def _with_conflict(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> _Planned:
    """Return the price of the plan for a shape that all shardings divide."""
    mesh = Mesh(tuple(MeshAxis(f"d{digit}", size) for digit, size in enumerate(sizes)))
    digits, shape = NumberedDigits.full_axes(mesh), (mesh.device_count,) * len(source)
    before, after = (
        TensorSharding("mesh", tuple(DimSharding(digits.join(own)) for own in dims)) for dims in (source, target)
    )
    price = plan_price(before, after, shape, mesh)
    return _Planned(
        price.elements / digits.elements(shape, source), price.collectives, tuple(map(digits.inside, price.sliced))
    )
