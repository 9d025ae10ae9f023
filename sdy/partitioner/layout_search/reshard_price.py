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

from sdy.model.collective import AllSlice
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.numbered_digits import DigitsPerDim, NumberedDigits
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import used
from sdy.partitioner.reshard.plan import plan, plan_price
from sdy.partitioner.reshard.steps import Reshape


@lru_cache(maxsize=65536)
def reshard_price(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> tuple[float, int]:
    """Return the elements that each device receives, in source shards, and the number of collectives.

    The shards are even. `sizes` are those of all digits.
    """
    if _has_conflict(source, target):
        return _conflict_price(*_renumbered(source, target, sizes))
    taken = used(source)
    moved = left = 1
    for own, required in zip(source, target, strict=True):
        moved *= prod(sizes[digit] for digit in required[len(own) :] if digit in taken)
        left *= prod(sizes[digit] for digit in own[len(required) :])
    before, after = (prod(sizes[digit] for digits in dims for digit in digits) for dims in (source, target))
    return before / after * (1 - 1 / left), (moved > 1) + (left > moved)


def _has_conflict(source: DigitsPerDim, target: DigitsPerDim) -> bool:
    """Return whether a slot holds a digit and must hold another one."""
    return any(
        own != required and own[: len(required)] != required[: len(own)]
        for own, required in zip(source, target, strict=True)
    )


def first_slices(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> DigitsPerDim:
    """Return the digits by which a reshard slices first, for each dim of the shape in which it does."""
    taken = used(source)
    if used(target) <= taken:
        return ()
    if _has_conflict(source, target):
        return _slices_of_plan(source, target, sizes)
    # A dim is split where a digit comes before one of them later.
    added = [required[len(own) :] for own, required in zip(source, target, strict=True)]
    return tuple(
        tuple(run) for own in added for is_new, run in groupby(own, lambda digit: digit not in taken) if is_new
    )


def _renumbered(
    source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape
) -> tuple[DigitsPerDim, DigitsPerDim, StaticShape]:
    """Return a reshard of the same price: digits are numbered by occurrence, dims without digits left out."""
    dims = sorted(pair for pair in zip(source, target, strict=True) if pair[0] or pair[1])
    order = dict.fromkeys(digit for pair in dims for own in pair for digit in own)
    order |= dict.fromkeys(sorted(range(len(sizes)), key=lambda digit: sizes[digit]))
    number = {digit: index for index, digit in enumerate(order)}
    before, after = (tuple(tuple(number[digit] for digit in pair[end]) for pair in dims) for end in (0, 1))
    return before, after, tuple(sizes[digit] for digit in order)


@lru_cache(maxsize=65536)
def _conflict_price(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> tuple[float, int]:
    ends, shape, mesh = _even_reshard(source, target, sizes)
    price = plan_price(*ends, shape, mesh)
    return price.elements / NumberedDigits.full_axes(mesh).elements(shape, source), price.collectives


@lru_cache(maxsize=65536)
def _slices_of_plan(source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape) -> DigitsPerDim:
    ends, shape, mesh = _even_reshard(source, target, sizes)
    first = next(step.action for step in plan(*ends, shape, mesh) if not isinstance(step.action, Reshape))
    digits = NumberedDigits.full_axes(mesh)
    return tuple(map(digits.inside, first.axes)) if isinstance(first, AllSlice) else ()


def _even_reshard(
    source: DigitsPerDim, target: DigitsPerDim, sizes: StaticShape
) -> tuple[tuple[TensorSharding, TensorSharding], StaticShape, Mesh]:
    """Return the shardings of a reshard, and a shape that all shardings on the mesh divide."""
    mesh = Mesh(tuple(MeshAxis(f"d{digit}", size) for digit, size in enumerate(sizes)))
    join = NumberedDigits.full_axes(mesh).join
    before, after = (TensorSharding("mesh", tuple(DimSharding(join(own)) for own in dims)) for dims in (source, target))
    return (before, after), (mesh.device_count,) * len(source), mesh
