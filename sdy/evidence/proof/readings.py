"""Ways to read a window: as one of its term, and of slices of the term in the global program."""

from __future__ import annotations

from sdy.evidence.proof.offsets import Offset, divided, elements_outside, plus, spread
from sdy.evidence.proof.relations import FREE, Digit, Digits, NotProvedError, View, extents, is_plain, tidy
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import Parts, Term, TermTable


def plain_readings(view: View, table: TermTable) -> list[View]:
    """Return the plain views of a window: of its term, and of slices in the global program.

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
    return found if len(found) == 1 else sorted(found, key=lambda each: _unlikeliness(each, table))


def likeliest(view: View, table: TermTable) -> View:
    """Return the likeliest plain view of a window: of a slice rather than of a part that all devices have.

    Raises: NotProvedError if there is none.
    """
    return cleaned(view, table) if table.is_recording else plain_readings(view, table)[0]


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
    """Return a window as one of slices of its term."""
    found = (as_slice(view, parts, term) for parts, term in table.slices[view.term].items())
    return [each for each in found if each is not None]


def as_slice(view: View, parts: Parts, term: Term) -> View | None:
    """Return a window of a term as one of a slice of it; None if it takes other steps, or has elements before it."""
    base: list[Offset] = []
    numbers: dict[int, tuple[int, int]] = {}
    for dim, (each, (start, count, step)) in enumerate(zip(view.base, parts, strict=True)):
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
    return View(term, tuple(base), tidy(dims), view.partial)


def _in_slice(digit: Digit, numbers: dict[int, tuple[int, int]]) -> Digit | None:
    """Return a digit in a slice, given the dim and the step of the slice by dim; None if it takes other steps."""
    if digit.dim == FREE:
        return digit
    dim, step = numbers[digit.dim]
    if digit.size > 1 and digit.stride % step:
        return None
    return Digit(digit.size, dim, max(1, digit.stride // step))
