"""Windows over a padded copy are windows that pad: the copy is noted, and read as the term that is padded."""

from __future__ import annotations

from collections.abc import Sequence

from sdy.evidence.proof.offsets import Offset
from sdy.evidence.proof.relations import FREE, Digit, Digits, View, dim_of, tidy
from sdy.evidence.proof.terms import Padded, Term
from sdy.evidence.proof.walk import Walk
from sdy.evidence.proof.windows.attributes import WindowAttributes, Windowed


def padded_copy(value: View, result: View, filling: Term, amounts: Sequence[tuple[int, int, int]]) -> Padded | None:
    """Return what a padded copy is of, given the amounts along each local dim; None if a dim cannot be told."""
    found: dict[int, tuple[tuple[int, int, int, int], int]] = {}
    for dim, (digits, edges) in enumerate(zip(result.dims, amounts, strict=True)):
        number = dim_of(digits)
        if number == FREE:
            if any(edges):
                return None
            continue
        found[number] = (dim_of(value.dims[dim]), *edges), value.shape[dim]
    if len(found) != len(result.term.shape):
        return None
    own, sizes = zip(*(found[number] for number in range(len(found))), strict=True)
    return Padded(value.term, filling, own, sizes)


def unpadded(walk: Walk, view: View, windowed: Windowed) -> tuple[View, WindowAttributes] | None:
    """Return a padded copy as the term that is padded, with the attributes of windows that pad it themselves.

    None unless the term is a copy that is padded by the scalar of the op, along dims with windows that are unsharded.
    """
    padded = walk.table.padded(view.term)
    if padded is None or not windowed.pads(padded.filling) or view.partial is not None:
        return None
    along = {each.dim: each for each in windowed.attributes.along}
    base: list[Offset] = [0] * len(padded.source.shape)
    dims: list[Digits] = []
    for dim, digits in enumerate(view.dims):
        number = dim_of(digits)
        if number == FREE:
            dims.append(digits)
            continue
        inner, low, high, interior = padded.dims[number]
        size, own = padded.sizes[number], along.get(dim)
        if not (low or high or interior):
            dims.append((Digit(digits[0].size, inner, 1),))
            base[inner] = view.base[number]
            continue
        is_whole = view.base[number] == 0 and digits[0].size == view.term.shape[number]
        if own is None or own.gap > 1 or min(low, high, own.low, own.high) < 0 or not is_whole:
            return None
        along[dim] = own._replace(low=own.low + low, high=own.high + high, gap=interior + 1)
        dims.append(() if inner == FREE else (Digit(size, inner, 1),))
    source = View(padded.source, tuple(base), tidy(dims), view.outside)
    return source, windowed.attributes._replace(along=tuple(along[each.dim] for each in windowed.attributes.along))
