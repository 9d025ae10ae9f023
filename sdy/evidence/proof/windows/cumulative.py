"""The lemma of cumulative ops along sharded dims: the totals of the shards before, and the op within the own shard.

Of a cumulative op along n elements in blocks of s, element j is the combination of the totals of all blocks before its
own, and of the elements of its block up to j. Devices compute the latter, the op *in blocks*, from their shards; its
last element in a block is the total. A device selects the totals before its block, reduces them, and combines them
with its elements. If the op accumulates from the last element on, the first element of a block is the total, and the
blocks after it count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sdy.evidence.proof.contributions import is_neutral
from sdy.evidence.proof.offsets import Offset, divided, offset, plus
from sdy.evidence.proof.relations import FREE, Digit, Known, View, dim_of, is_within, tidy
from sdy.evidence.proof.terms import Term, TermTable
from sdy.evidence.proof.walk import Walk, shape_of
from sdy.evidence.proof.windows.attributes import Along, WindowAttributes, Windowed
from sdy.evidence.proof.windows.shards import global_ops, windows_of_op

IN_BLOCKS = "cumulative in blocks"  # of a cumulative op, its operand: the op within each block
TOTALS = "totals of blocks"  # those of the first k blocks, or of all but them, per k; others are neutral
TOTAL = "total of blocks"  # their combination, per k


class Blocks(NamedTuple):
    """The blocks of a cumulative op: `size` elements along a dim of its term, combined by an op of a kind."""

    dim: int
    size: int
    kind: str
    from_last: bool


def in_blocks(walk: Walk, windowed: Windowed, value: View, init: View, kind: str) -> View | None:
    """Return the cumulative op on shards as an op of the global program in blocks; None if it is none."""
    if not kind or init.partial is not None or not is_neutral(init.term, kind):
        return None
    for view, own, term, whole in global_ops(walk, windowed, value):
        starts = None if view.partial is not None or not is_within(view) else _starts(windowed, view, own, whole)
        found = None if starts is None else windows_of_op(walk, windowed, whole, view, [init], starts)
        if starts is not None and found is not None and found.term is term:
            return replace(found, term=_in_blocks_along(walk, found, starts, kind, whole))
    return None


def _starts(
    windowed: Windowed, view: View, attributes: WindowAttributes, whole: WindowAttributes
) -> dict[int, Offset] | None:
    """Return the starts of shards along the dims whose windows are as long as a shard; None if others differ."""
    shape, own = shape_of(windowed.op.results[0]), {each.dim: each for each in attributes.along}
    if own.keys() != {each.dim for each in whole.along}:
        return None
    starts: dict[int, Offset] = {}
    for along in whole.along:
        if own[along.dim] == along:
            continue
        number, extent = dim_of(view.dims[along.dim]), shape[along.dim]
        if number == FREE or not _is_in_blocks(own[along.dim], along, extent, view.term.shape[number]):
            return None
        if divided(view.base[number], extent)[1] != 0:
            return None
        starts[along.dim] = view.base[number]
    return starts


def _in_blocks_along(walk: Walk, found: View, dims: Iterable[int], kind: str, whole: WindowAttributes) -> Term:
    """Return the term of an op in blocks along some dims, given the windows of the op that are the devices' blocks."""
    term, from_last = found.term, {each.dim: bool(each.high) for each in whole.along}
    for dim in reversed(list(dims)):  # the blocks of the first dim are combined first
        (digit,) = found.dims[dim]
        blocks = Blocks(digit.dim, digit.size, kind, from_last[dim])
        term = walk.table.make(IN_BLOCKS, blocks, (term,), term.shape, term.element)
    return term


def _is_in_blocks(own: Along, whole: Along, extent: int, size: int) -> bool:
    """Return whether windows are cumulative along a shard of `extent` elements, as the global ones are along `size`."""
    before = (size - 1, 0), (extent - 1, 0)
    after = (0, size - 1), (0, extent - 1)
    if ((whole.low, whole.high), (own.low, own.high)) not in (before, after) or size % extent:
        return False
    return all(
        (each.size, each.stride, each.gap, each.result_dim) == (count, 1, 1, each.dim) and each.step == 1
        for each, count in ((own, extent), (whole, size))
    )


def selected_totals(
    table: TermTable, mask: Known, kept: View | Known, other: View | Known, devices: int
) -> View | None:
    """Return the totals of the blocks that a mask per device selects, if they are the first ones, or the last."""
    if isinstance(kept, Known) or isinstance(other, Known) or kept.term.op != IN_BLOCKS or mask.dim is None:
        return None
    blocks = kept.term.attributes
    assert isinstance(blocks, Blocks)
    size, count = blocks.size, kept.term.shape[blocks.dim] // blocks.size
    if kept.dims[mask.dim] != (Digit(count, blocks.dim, size),) or kept.partial is not None:
        return None
    if kept.base[blocks.dim] != (0 if blocks.from_last else size - 1):
        return None
    if other.base or other.partial is not None or not is_neutral(other.term, blocks.kind):
        return None
    edges = _edges(mask, count, devices, from_last=blocks.from_last)
    if edges is None:
        return None
    shape = [*kept.term.shape, count + 1]
    shape[blocks.dim] = count
    dims, base = list(kept.dims), [*kept.base, edges]
    base[blocks.dim], dims[mask.dim] = 0, (Digit(count, blocks.dim, 1),)
    term = table.make(TOTALS, blocks, kept.term.operands, tuple(shape), kept.term.element)
    return View(term, tuple(base), tuple(dims))


def _edges(mask: Known, count: int, devices: int, *, from_last: bool) -> Offset | None:
    """Return, per device, the number of blocks before the first, or after the last one that a mask does not select."""
    if mask.element != "i1":
        return None
    chosen = np.broadcast_to(mask.rows.astype(bool), (devices, count))
    edges = count - chosen.sum(1) if from_last else chosen.sum(1)
    expected = np.arange(count)[None] < edges[:, None]
    if bool((chosen == (~expected if from_last else expected)).all()):
        return offset(tuple(int(each) for each in edges))
    return None


def reduced_totals(table: TermTable, value: View | Known, init: View, kind: str, dims: Sequence[int]) -> View | None:
    """Return the combination of selected totals; None if these are none, or combined by another op."""
    if isinstance(value, Known) or value.term.op != TOTALS:
        return None
    blocks = value.term.attributes
    assert isinstance(blocks, Blocks)
    if (blocks.kind, init.partial, value.partial) != (kind, None, None):
        return None
    if [dim_of(value.dims[dim]) for dim in dims] != [blocks.dim] or not is_neutral(init.term, kind):
        return None
    *shape, edges = value.term.shape
    *base, edge = value.base
    shape[blocks.dim], base[blocks.dim] = edges, edge
    term = table.make(TOTAL, blocks, value.term.operands, tuple(shape), value.term.element)
    return View(term, tuple(base), tuple(digits for dim, digits in enumerate(value.dims) if dim not in dims))


def with_other_blocks(kind: str, operands: Sequence[View | Known]) -> View | None:
    """Return the elements of the op in blocks, combined with the total of the blocks before them: those of the op."""
    views = [each for each in operands if isinstance(each, View)]
    own = next((each for each in views if each.term.op == IN_BLOCKS), None)
    total = next((each for each in views if each.term.op == TOTAL), None)
    if own is None or total is None or len(operands) != 2 or _key(own.term) != _key(total.term):
        return None
    blocks = own.term.attributes
    assert isinstance(blocks, Blocks)
    if (blocks.kind, own.partial, total.partial) != (kind, None, None):
        return None
    dim = next((dim for dim, digits in enumerate(own.dims) if dim_of(digits) == blocks.dim), None)
    number, rest = divided(own.base[blocks.dim], blocks.size)
    if dim is None or rest != 0 or own.dims[dim] != (Digit(blocks.size, blocks.dim, 1),):
        return None
    base, digits = list(own.base), list(own.dims)
    base[blocks.dim] = plus(number, 1 if blocks.from_last else 0)
    digits[dim] = (Digit(blocks.size, FREE, 0),)
    if (tuple(base), tidy(digits)) != (total.base, tidy(total.dims)):
        return None
    return replace(own, term=own.term.operands[0], outside=None)


def _key(term: Term) -> Hashable:
    return term.attributes, term.operands
