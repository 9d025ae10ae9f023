"""Lemmas of reshapes: the terms of which a window is a range of one dim per local dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import cast

from sdy.evidence.proof.offsets import Offset, divided, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, NotProvedError, View, extents, is_plain, is_within, tidy
from sdy.evidence.proof.terms import Parts, Shape, Term, TermTable


def reshaped(view: View, shape: Shape, table: TermTable) -> View:
    """Return the view with its digits regrouped into dims of other sizes."""
    flat = [digit for digits in view.dims for digit in digits]
    dims: list[list[Digit]] = []
    for size in shape:
        if size == 1 and flat and flat[0].size == 1:
            dims.append([flat.pop(0)])
        else:
            dims.append(_taken(flat, size))
    if flat and dims:
        dims[-1] += flat  # of size 1
    elif flat:
        scalar = sliced(replace(view, dims=(tuple(flat),)), table)
        if scalar.base:
            raise NotProvedError("a reshape to a scalar of a shard with one element")
        return replace(scalar, dims=())
    return replace(view, dims=tidy(map(tuple, dims)))


def reshaped_as_in_program(view: View, shape: Shape, table: TermTable) -> View:
    """Return the reshape of a window, of a reshape of the global program that has as many dims if there is one."""
    found = reshaped(view, shape, table)
    others = (_as_reshape(found, term) for term in table.reshapes[root(found.term)] if len(term.shape) == len(shape))
    return next((each for each in others if each is not None), found)


def _as_reshape(view: View, term: Term) -> View | None:
    """Return a window as one of a term with the same elements in the same order; None if it is none."""
    if not is_within(view):
        return None
    weights, others = _weights(view.term.shape), _weights(term.shape)
    rest, base = offset_sum(view.base, weights), list[Offset]()
    for weight in others:
        quotient, rest = divided(rest, weight)
        base.append(quotient)
    dims: list[Digits] = []
    for digits in view.dims:
        steps = [each.stride * weights[each.dim] if each.dim != FREE else 0 for each in digits]
        if any(step and step not in others for step in steps):
            return None
        pairs = zip(digits, steps, strict=True)
        dims.append(tuple(Digit(each.size, others.index(step), 1) if step else each for each, step in pairs))
    unused = {*range(len(others))} - {each.dim for digits in dims for each in digits}
    if len(unused) == 1 and () in dims:  # a local dim of one element
        dims[dims.index(())] = (Digit(1, unused.pop(), 1),)
    found = View(term, tuple(base), tidy(dims), view.partial)
    return found if is_plain(found) and is_within(found) else None


def _taken(flat: list[Digit], size: int) -> list[Digit]:
    """Remove and return the first digits of `flat`, of `size` elements in all."""
    taken: list[Digit] = []
    while size > 1:
        digit = flat.pop(0)
        if digit.size > size:
            rest, remainder = divmod(digit.size, size)
            if remainder:
                raise NotProvedError("a reshape that splits a dim of the window unevenly")
            flat.insert(0, Digit(rest, digit.dim, digit.stride))
            digit = Digit(size, digit.dim, digit.stride * rest)
        elif size % digit.size:
            raise NotProvedError("a reshape that joins dims of the window unevenly")
        taken.append(digit)
        size //= digit.size
    return taken


def offset_sum(base: Sequence[Offset], weights: Sequence[int]) -> Offset:
    """Return the sum of offsets times weights."""
    total: Offset = 0
    for each, weight in zip(base, weights, strict=True):
        total = plus(total, each, weight)
    return total


def _weights(shape: Shape) -> list[int]:
    return [prod(shape[dim + 1 :]) for dim in range(len(shape))]


def cleaned(view: View, table: TermTable) -> View:
    """Return a plain view: the term is sliced, split, transposed and merged until each local dim is a range of one dim.

    Raises: NotProvedError if the window is none of such a term.
    """
    is_whole = all(base == 0 for base in view.base) and tuple(extents(view)) == view.term.shape
    if table.is_recording and not is_whole:
        view = sliced(view, table)
    if is_plain(view):
        return view
    if not is_within(view):
        raise NotProvedError("a reshape of a window that reaches over the end of its dim")
    split = _split(_repeated(view, table), table)
    return split if is_plain(split) else _merged(split, table)


def _repeated(view: View, table: TermTable) -> View:
    """Return the view of a term with more dims, along which it repeats, for digits that repeat beside others."""
    shape, base, dims = list(view.term.shape), list(view.base), list[Digits]()
    for digits in view.dims:
        kept: list[Digit] = []
        for digit in digits:
            if digit.dim == FREE and len(digits) > 1:
                kept.append(Digit(digit.size, len(shape), 1))
                shape.append(digit.size)
                base.append(0)
            else:
                kept.append(digit)
        dims.append(tuple(kept))
    if len(shape) == len(view.term.shape):
        return view
    term = table.make("repeat", None, (view.term,), tuple(shape), view.term.element)
    return View(term, tuple(base), tuple(dims), view.partial)


def sliced(view: View, table: TermTable) -> View:
    """Return the view as one of the slice of the term that the window covers, the same on all devices."""
    if any(not isinstance(base, int) for base in view.base) or not is_within(view):
        return view
    steps = [0] * len(view.base)
    for digits in view.dims:
        for digit in digits:
            if digit.dim != FREE and digit.size > 1:
                steps[digit.dim] = min(digit.stride, steps[digit.dim] or digit.stride)
    counts = [(extent - 1) // (step or 1) + 1 for extent, step in zip(extents(view), steps, strict=True)]
    kept = [dim for dim, count in enumerate(counts) if count > 1]
    number = {dim: position for position, dim in enumerate(kept)}
    if any(
        digit.dim in number and digit.size > 1 and digit.stride % steps[digit.dim]
        for each in view.dims
        for digit in each
    ):
        return view
    shape = tuple(counts[dim] for dim in kept)
    attributes = cast("Parts", tuple(zip(view.base, counts, steps, strict=True)))
    term = _slice_term(view.term, attributes, shape, table)
    dims = tuple(
        tuple(
            Digit(
                digit.size, number.get(digit.dim, FREE), digit.stride // steps[digit.dim] if digit.dim in number else 0
            )
            for digit in digits
            if digit.dim in number or digit.dim == FREE
        )
        for digits in view.dims
    )
    return View(term, (0,) * len(kept), tidy(dims), view.partial)


def _slice_term(source: Term, parts: Parts, shape: Shape, table: TermTable) -> Term:
    """Return the term of a slice; that of the same part of what the source is a slice of, if there is one."""
    chain = [(source, parts)]
    while source.op == "slice":
        rest = iter(parts)
        found: list[tuple[int, int, int]] = []
        for start, count, step in cast("Parts", source.attributes):
            inner = next(rest) if count > 1 else (0, 1, 0)
            found.append((start + inner[0] * step, inner[1], inner[2] * step))
        source, parts = source.operands[0], tuple(found)
        chain.append((source, parts))
    term = next((known for each in chain if (known := table.slices[each[0]].get(each[1]))), None)
    if term is None:
        term = table.make("slice", chain[0][1], (chain[0][0],), shape, source.element)
    for each, part in chain:
        if table.is_recording and each is not term:
            table.slices[each][part] = term
    return term


def _split(view: View, table: TermTable) -> View:
    """Return the view with each dim of the term split where its digits end."""
    shape, base = list[int](), list[Offset]()
    numbers: dict[tuple[int, int], int] = {}
    for dim, size in enumerate(view.term.shape):
        strides = sorted(
            {d.stride for digits in view.dims for d in digits if d.dim == dim and d.size > 1}, reverse=True
        )
        strides = [*strides, *([] if strides and strides[-1] == 1 else [1])]
        rest, before = view.base[dim], size
        for stride in strides:
            if before % stride:
                raise NotProvedError("a reshape that splits a dim of the term unevenly")
            numbers[dim, stride] = len(shape)
            if before // stride == 1:
                continue
            shape.append(before // stride)
            quotient, rest = divided(rest, stride)
            base.append(quotient)
            before = stride
    dims = tuple(
        tuple(d if d.dim == FREE else Digit(d.size, numbers[d.dim, d.stride], 1) for d in digits)
        for digits in view.dims
    )
    used = {digit.dim for digits in dims for digit in digits}
    if any(dim not in used for dim in range(len(shape))):
        raise NotProvedError("a reshape that splits a dim of which the shard has one element")
    term = _reshape(table, view.term, None, tuple(shape))
    found = View(term, tuple(base), dims, view.partial)
    if not is_within(found):
        raise NotProvedError("a reshape of a window that lies across the blocks of its dim")
    return found


def _merged(view: View, table: TermTable) -> View:
    """Return the view with the dims of the term that one local dim covers merged into one."""
    order = [digit.dim for digits in view.dims for digit in digits if digit.dim != FREE]
    if sorted(order) != list(range(len(view.base))):
        raise NotProvedError("a dim of the term is used twice")
    shape, base, dims = list[int](), list[Offset](), list[Digits]()
    for digits in view.dims:
        inner = [digit for digit in digits if digit.dim != FREE]
        if not inner:
            dims.append(digits)
            continue
        sizes = [view.term.shape[digit.dim] for digit in inner]
        for position, digit in enumerate(inner[1:], 1):
            is_whole = digit.size == sizes[position] and view.base[digit.dim] == 0
            if not is_whole and any(each.size > 1 for each in inner[:position]):
                raise NotProvedError("a reshape that merges a sharded dim into a dim that is not major to it")
        base.append(offset_sum([view.base[digit.dim] for digit in inner], _weights(tuple(sizes))))
        dims.append((Digit(prod(digit.size for digit in inner), len(shape), 1),))
        shape.append(prod(sizes))
    permutation = None if order == sorted(order) else tuple(order)
    return View(_reshape(table, view.term, permutation, tuple(shape)), tuple(base), tuple(dims), view.partial)


def _reshape(table: TermTable, term: Term, permutation: tuple[int, ...] | None, shape: Shape) -> Term:
    """Return the term with its dims permuted, then reshaped."""
    if permutation is None:
        term = root(term)
        if term.shape == shape:
            return term
    return table.make("reshape", permutation, (term,), shape, term.element)


def root(term: Term) -> Term:
    """Return the term of which `term` is a reshape in row-major order, or `term` itself."""
    while term.op == "reshape" and term.attributes is None:
        term = term.operands[0]
    return term
