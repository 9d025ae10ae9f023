"""Lemmas of data movement on one device: parts, permutations and repetitions of a window are views of the same term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from sdy.evidence.proof.known import known_slice
from sdy.evidence.proof.offsets import Offset, at, divided, is_inside, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, Known, NotProvedError, View, dim_of, is_within, tidy
from sdy.evidence.proof.terms import Shape


def transposed(view: View, permutation: Sequence[int]) -> View:
    """Return the view with its local dims permuted."""
    return replace(view, dims=tuple(view.dims[each] for each in permutation))


def broadcast(view: View, shape: Shape, positions: Sequence[int]) -> View:
    """Return the view with its local dims at `positions` of `shape`, and repeated along the other dims."""
    dims: list[Digits] = [() if size == 1 else (Digit(size, FREE, 0),) for size in shape]
    for digits, position in zip(view.dims, positions, strict=True):
        size = prod(digit.size for digit in digits)
        dims[position] = (*digits, Digit(shape[position] // size, FREE, 0))
    return replace(view, dims=tidy(dims))


def slice_along(value: View | Known, dim: int, start: Offset, size: int, stride: int = 1) -> View | Known:
    """Return the elements `start`, `start + stride`, ... along a local dim: `size` of them."""
    if isinstance(value, Known):
        return known_slice(value, dim, start, size, stride)
    return window(value, dim, start, size, stride)


def window(view: View, dim: int, start: Offset, size: int, stride: int = 1) -> View:
    """Return the elements `start`, `start + stride`, ... along a local dim: `size` of them."""
    base, digits = list(view.base), list(view.dims[dim])
    if len(digits) > 1:
        if stride != 1:
            raise NotProvedError("a strided slice of a dim of several parts")
        return _window_of_digits(view, dim, start, size)
    if not digits:
        return view
    _, term_dim, step = digits[0]
    if term_dim != FREE:
        base[term_dim] = plus(base[term_dim], start, step)
    kept = Digit(size, term_dim, step * stride if size > 1 else step)
    return replace(view, base=tuple(base), dims=tidy((*view.dims[:dim], (kept,), *view.dims[dim + 1 :])))


def _window_of_digits(view: View, dim: int, start: Offset, size: int) -> View:
    """Return a slice of a local dim of several digits, which ends where blocks of minor digits do."""
    digits = view.dims[dim]
    minor = prod(digit.size for digit in digits[1:])
    quotient, rest = divided(start, minor)
    base = list(view.base)
    if rest == 0 and size % minor == 0:
        major = digits[0]
        if major.dim != FREE:
            base[major.dim] = plus(base[major.dim], quotient, major.stride)
        kept: Digits = (Digit(size // minor, major.dim, major.stride), *digits[1:])
    elif is_inside(rest, size, minor):
        major = digits[0]
        if major.dim != FREE:
            base[major.dim] = plus(base[major.dim], quotient, major.stride)
        dims = (*view.dims[:dim], digits[1:], *view.dims[dim + 1 :])
        inner = replace(view, base=tuple(base), dims=dims)
        found = window(inner, dim, rest, size)
        unit = Digit(1, major.dim, 1)
        return replace(found, dims=tidy((*found.dims[:dim], (unit, *found.dims[dim]), *found.dims[dim + 1 :])))
    else:
        raise NotProvedError("a slice that ends within a block of the dim")
    return replace(view, base=tuple(base), dims=tidy((*view.dims[:dim], kept, *view.dims[dim + 1 :])))


def adjoined(parts: Sequence[View], dim: int, devices: int) -> View | None:
    """Return parts that are next to each other in a term as one window, such as a shard between the halos around it.

    A part all of whose elements are outside of the term may be anywhere outside. None if the parts are not such.
    """
    middle = max(parts, key=lambda each: each.shape[dim])
    number = dim_of(middle.dims[dim])
    if number == FREE or any(not _is_part_like(each, middle, dim, number) for each in parts):
        return None
    size, before = middle.term.shape[number], 0
    start = plus(middle.base[number], sum(each.shape[dim] for each in parts[: parts.index(middle)]), -1)
    for part in parts:
        place, extent = plus(start, before), part.shape[dim]
        before += extent
        for device in range(devices) if part.base[number] != place else ():
            found, wanted = at(part.base[number], device), at(place, device)
            is_outside = not (-extent < found < size or -extent < wanted < size)
            if found != wanted and not is_outside:
                return None
    outsides = {each.outside for each in parts if not is_within(each)}
    base = (*middle.base[:number], start, *middle.base[number + 1 :])
    dims = (*middle.dims[:dim], (Digit(before, number, 1),), *middle.dims[dim + 1 :])
    return replace(middle, base=base, dims=tidy(dims), outside=outsides.pop() if len(outsides) == 1 else None)


def _is_part_like(part: View, other: View, dim: int, number: int) -> bool:
    """Return whether parts differ only in which range of dim `number` of a term they have along their dim `dim`."""
    digits = part.dims[dim]
    if part.term is not other.term or part.partial or len(digits) != 1 or digits[0][1:] != (number, 1):
        return False
    is_same_base = (a == b for each, (a, b) in enumerate(zip(part.base, other.base, strict=True)) if each != number)
    return all(is_same_base) and part.dims[:dim] == other.dims[:dim] and part.dims[dim + 1 :] == other.dims[dim + 1 :]
