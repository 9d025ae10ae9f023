"""Ways to read a window: as one of its term, and of slices and padded copies of the term in the global program."""

from __future__ import annotations

from sdy.evidence.proof.offsets import Offset, divided, elements_outside, plus, spread
from sdy.evidence.proof.relations import (
    FREE,
    Digit,
    Digits,
    NotProvedError,
    View,
    extents,
    is_plain,
    is_within,
    tidy,
)
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import Derived, TermTable

PAD = "stablehlo.pad"


def plain_readings(view: View, table: TermTable) -> list[View]:
    """Return the plain views of a window: of its term, and of slices and padded copies in the global program.

    Raises: NotProvedError if there is none.
    """
    found: list[View] = []
    error: NotProvedError | None = None
    for each in (view, *moved_readings(view, table)):
        try:
            found.append(cleaned(each, table))
        except NotProvedError as failure:
            error = error or failure
    if not found:
        raise error or NotProvedError("the window has no plain view")
    if found[0].term is not view.term:
        found += [each for each in moved_readings(found[0], table) if is_plain(each)]
    if view.outside is not None:  # a slice that is padded
        slices = [each for each in found if each.term.op == "slice" and each.outside is not None]
        found += [padded for each in slices for padded in moved_readings(each, table) if padded.term.op == PAD]
    return found if len(found) == 1 else sorted(found, key=lambda each: _unlikeliness(each, table))


def _unlikeliness(view: View, table: TermTable) -> tuple[int, int, bool]:
    """Return a key by which the likeliest reading comes first.

    It has the number of elements outside of the term, that of dims of which all devices have the same part (a window of
    another slice than that which the program takes has many), and whether the term is not one of the global program.
    """
    sizes = list(zip(view.base, extents(view), view.term.shape, strict=True))
    outside = sum(elements_outside(base, extent, size) for base, extent, size in sizes)
    parts = sum(isinstance(base, int) and (base, extent) != (0, size) for base, extent, size in sizes)
    return outside, parts, not table.is_global(view.term)


def moved_readings(view: View, table: TermTable) -> list[View]:
    """Return a window as one of slices and padded copies of its term."""
    found: list[View] = []
    for derived in table.derived(view.term):
        term = derived.term
        if term.op == "slice":
            other = as_slice(view, derived)
        elif term.op == PAD and is_plain(view):
            other = as_padded(view, derived)
        else:
            other = None
        found += [] if other is None else [other]
    return found


def as_slice(view: View, derived: Derived) -> View | None:
    """Return a window of a term as one of a slice of it; None if it takes other steps, or has elements before it.

    A scalar that is outside of the term is outside of a slice that takes one element of a dim, or all.
    """
    base: list[Offset] = []
    numbers: dict[int, tuple[int, int]] = {}
    for dim, (each, (start, count, step)) in enumerate(zip(view.base, derived.parts, strict=True)):
        shift = plus(each, start, -1)
        if (count == 1 and shift != 0) or any(one % max(1, step) for one in spread(shift)):
            return None
        if count > 1:
            numbers[dim] = len(base), step
            base.append(divided(shift, step)[0])
    dims: list[Digits] = []
    for digits in view.dims:
        kept = [_in_slice(digit, numbers) for digit in digits if digit.dim in numbers or digit.dim == FREE]
        is_part = all(digit.size == 1 for digit in digits if digit.dim not in numbers and digit.dim != FREE)
        if None in kept or not is_part:
            return None
        dims.append(tuple(each for each in kept if each is not None))
    has_outside = all(map(_has_no_more, view.base, extents(view), view.term.shape, derived.parts))
    return View(derived.term, tuple(base), tidy(dims), view.outside if has_outside else None, view.partial)


def _has_no_more(base: Offset, extent: int, size: int, part: tuple[int, int, int]) -> bool:
    """Return whether a window has no elements of a dim but those of a part of it."""
    start, count, step = part
    if count == 1 or (start, count) == (0, size):
        return True
    return step == 1 and all(max(one, 0) >= start and min(one + extent, size) <= start + count for one in spread(base))


def _in_slice(digit: Digit, numbers: dict[int, tuple[int, int]]) -> Digit | None:
    """Return a digit in a slice, given the dim and the step of the slice by dim; None if it takes other steps."""
    if digit.dim == FREE:
        return digit
    dim, step = numbers[digit.dim]
    if digit.size > 1 and digit.stride % step:
        return None
    return Digit(digit.size, dim, max(1, digit.stride // step))


def as_padded(view: View, derived: Derived) -> View | None:
    """Return a plain window of a term, which is the padding value outside, as one of the padded term.

    It is that value outside of the padded term, too, if it was known to be.
    """
    term, inner = derived.term, derived.term.operands[0]
    is_padded = view.outside is not None and view.outside is term.operands[1]
    if inner is not view.term or not (is_padded or is_within(view)):
        return None
    base: list[Offset] = [0] * len(view.base)
    for start, dim, edge in zip(view.base, derived.layout, derived.edges, strict=True):
        base[dim] = plus(start, edge)
    dims = (
        tuple(each._replace(dim=derived.layout[each.dim]) if each.dim != FREE else each for each in d)
        for d in view.dims
    )
    return View(term, tuple(base), tuple(dims), view.outside if is_padded else None, view.partial)
