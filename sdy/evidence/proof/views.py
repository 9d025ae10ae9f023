"""Lemmas of data movement on one device: parts, permutations and repetitions of a window are views of the same term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from sdy.evidence.proof.known import known_slice
from sdy.evidence.proof.offsets import Offset, divided, is_inside, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, Known, NotProvedError, View, tidy
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
