"""Terms that the global program puts together along a dim: concatenations, and padded copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, cast

from sdy.evidence.proof.offsets import Offset, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, View, dim_of
from sdy.evidence.proof.terms import Arguments, Parts, Term


class Region(NamedTuple):
    """A range of a term along a dim, and what lies there: a view of one element along the dim, the first one."""

    start: int
    size: int
    content: View


@dataclass(frozen=True, slots=True)
class Layout:
    """A term, the dim along which it is put together, the local dim of each of its dims, and its regions in order."""

    term: Term
    dim: int
    local_dims: tuple[int, ...]
    regions: tuple[Region, ...]

    @property
    def size(self) -> int:
        """The size of the dim."""
        return self.term.shape[self.dim]

    def part(self, region: Region) -> View:
        """Return the view of the term itself of one element along the dim, the first one of a region."""
        shape = self.term.shape
        base = tuple(region.start if dim == self.dim else 0 for dim in range(len(shape)))
        dims = tuple((Digit(1 if dim == self.dim else size, dim, 1),) for dim, size in enumerate(shape))
        return View(self.term, base, dims)


def unsliced(view: View) -> View:
    """Return a view of a slice as one of what it is a slice of; as it is if it tells what is outside of the slice."""
    while view.term.op == "slice" and view.outside is None:
        parts = cast("Parts", view.term.attributes)
        numbers = [dim for dim, (_, count, _) in enumerate(parts) if count > 1]
        base: list[Offset] = [start for start, _, _ in parts]
        for number, start in zip(numbers, view.base, strict=True):
            base[number] = plus(base[number], start, parts[number][2])
        dims = tuple(tuple(_unsliced(digit, numbers, parts) for digit in digits) for digits in view.dims)
        view = replace(view, term=view.term.operands[0], base=tuple(base), dims=dims)
    return view


def _unsliced(digit: Digit, numbers: Sequence[int], parts: Parts) -> Digit:
    if digit.dim == FREE:
        return digit
    dim = numbers[digit.dim]
    return Digit(digit.size, dim, digit.stride * parts[dim][2])


def layout_of(term: Term, local_dim: int, rank: int) -> Layout | None:
    """Return how a concatenation or padded copy is put together along a dim; None for other terms, and other dims.

    The dims of its op, which are factors, must be those of the local value.
    """
    arguments = term.attributes
    if term.op not in ("stablehlo.concatenate", "stablehlo.pad") or not isinstance(arguments, Arguments):
        return None
    factors = [-1 - each for each in arguments.result_factors]
    joined = [position for position, factor in enumerate(factors) if not 0 <= factor < rank]
    if len(joined) != 1:
        return None
    (dim,) = joined
    ranges = _ranges(term, arguments.own, local_dim, term.shape[dim])
    regions: list[Region] = []
    start = 0
    for size, number in ranges:
        if size:
            regions.append(Region(start, size, unsliced(_content(term, arguments, number, dim, factors))))
        start += size
    long = {each.content.term: each.content.dims[dim][0].dim for each in regions if each.content.dims[dim]}
    regions = [
        each._replace(content=_with_dim(each.content, dim, long)) if each.size == 1 else each for each in regions
    ]
    local_dims = tuple(local_dim if position == dim else factor for position, factor in enumerate(factors))
    return Layout(term, dim, local_dims, tuple(regions)) if start == term.shape[dim] else None


def in_parts(layout: Layout, rank: int) -> Layout:
    """Return a layout with the regions of contents that are put together along the same dim, instead of these."""
    parts = chain.from_iterable(_parts(each, layout, rank) for each in layout.regions)
    return replace(layout, regions=tuple(parts))


def _parts(region: Region, layout: Layout, rank: int) -> Iterator[Region]:
    content, dim = region.content, layout.dim
    inner = layout_of(content.term, layout.local_dims[dim], rank)
    is_alike = inner is not None and (inner.dim, inner.local_dims) == (dim, layout.local_dims)
    if inner is None or not is_alike or not _is_whole_along_others(content, dim):
        yield region
        return
    first = content.base[dim]
    assert isinstance(first, int)  # contents are in the global program
    for each in in_parts(inner, rank).regions:
        low, high = max(first, each.start), min(first + region.size, each.start + each.size)
        if low < high:
            yield Region(region.start + low - first, high - low, _shifted(each.content, dim, low - each.start))


def _is_whole_along_others(content: View, dim: int) -> bool:
    """Return whether a content has all elements of its term but along a dim, of which it has one, in order."""
    whole = tuple((Digit(1 if each == dim else size, each, 1),) for each, size in enumerate(content.term.shape))
    return content.dims == whole and all(start == 0 for each, start in enumerate(content.base) if each != dim)


def _shifted(content: View, dim: int, distance: int) -> View:
    """Return the content from some later element of a region on."""
    number = dim_of(content.dims[dim])
    if number == FREE:
        return content
    base = (plus(start, distance if each == number else 0) for each, start in enumerate(content.base))
    return replace(content, base=tuple(base))


def _with_dim(content: View, dim: int, long: Mapping[Term, int]) -> View:
    """Return a view of one element with the dim of its term of which it is an element, which slices do not have.

    If slices took one element of several dims, it is the dim that longer regions of the same term have, in `long`.
    """
    used = {digit.dim for digits in content.dims for digit in digits}
    rest = [each for each in range(len(content.base)) if each not in used]
    if len(rest) > 1 and (known := long.get(content.term)) in rest:
        rest = [known]
    if content.dims[dim] or len(rest) != 1:
        return content
    return replace(content, dims=(*content.dims[:dim], (Digit(1, rest[0], 1),), *content.dims[dim + 1 :]))


def _ranges(term: Term, own: object, local_dim: int, size: int) -> list[tuple[int, int]]:
    """Return the sizes of the parts of a term along its dim, and the numbers of their operands; none along others."""
    if term.op == "stablehlo.concatenate":
        joined, sizes = cast("tuple[int, tuple[int, ...]]", own)
        return list(zip(sizes, range(len(sizes)), strict=True)) if joined == local_dim else []
    amounts = cast("tuple[tuple[int, int, int, int], ...]", own)
    if len(amounts) != 1 or amounts[0][0] != local_dim or amounts[0][3] or min(amounts[0][1:3]) < 0:
        return []
    _, low, high, _ = amounts[0]
    return [(low, 1), (size - low - high, 0), (high, 1)]


def _content(term: Term, arguments: Arguments, number: int, dim: int, factors: Sequence[int]) -> View:
    """Return an operand of a term as a view in the dims of the term: of one element along `dim`."""
    operand = term.operands[number]
    dim_of_factor = {factor: each for each, factor, size in arguments.factors[number] if not size}
    dims: list[Digits] = []
    for position, factor in enumerate(factors):
        if position == dim:
            rest = [each for other, each in dim_of_factor.items() if other not in factors]
            dims.append((Digit(1, rest[0], 1),) if rest else ())
        elif factor in dim_of_factor:
            dims.append((Digit(operand.shape[dim_of_factor[factor]], dim_of_factor[factor], 1),))
        else:
            dims.append((Digit(term.shape[position], FREE, 0),))
    return View(operand, (0,) * len(operand.shape), tuple(dims))
