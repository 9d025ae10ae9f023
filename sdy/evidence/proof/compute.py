"""The lemma of computations: an op on windows of its operands computes windows of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sdy.evidence.proof.contributions import IDEMPOTENT, contributions, is_float, is_neutral, is_zero, product, together
from sdy.evidence.proof.factors import Factors, Placement
from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.readings import likeliest
from sdy.evidence.proof.relations import FREE, Digit, Known, NotProvedError, Partial, View, dim_of, tidy
from sdy.evidence.proof.terms import Arguments, TermTable

Keys = tuple[tuple[tuple[int, int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Computation:
    """An op to be proved: its name, factors, and the local shapes and element types of its results."""

    name: str
    factors: Factors
    shapes: tuple[tuple[int, ...], ...]
    elements: tuple[str, ...]
    devices: int


def computed(work: Computation, operands: Sequence[View | Known], table: TermTable) -> list[View]:
    """Return the views that an op computes from its operands, each read as a window of its likeliest term.

    Raises: NotProvedError if the lemma does not hold.
    """
    operands = [each if isinstance(each, Known) else likeliest(each, table) for each in operands]
    factors = work.factors
    placements = _placements(operands, factors)
    views = [_located(each, dims, placements, table) for each, dims in zip(operands, factors.operands, strict=True)]
    for factor, placement in placements.items():
        if factor not in factors.parallel and factor not in factors.reduced and not placement.is_whole:
            raise NotProvedError(f"expected a dim that is whole, got {placement}")
    partial = product(_linear_partial(work, views), _reduction(work, views, placements))
    order = range(len(views))
    if work.name in ("stablehlo.dot", "stablehlo.dot_general"):
        order = sorted(order, key=lambda number: views[number].term.number)
    key, names = _key(work, views, placements, order)
    terms = tuple(views[number].term for number in order)
    results: list[View] = []
    for number, (dims, shape, element) in enumerate(zip(factors.results, work.shapes, work.elements, strict=True)):
        found = {
            dim: placement
            for dim, (factor, size) in enumerate(zip(dims, shape, strict=True))
            if (placement := _result_placement(factors, {**factors.shards, **placements}, factor, size))
        }
        kept = sorted(found, key=lambda dim: names.get(factors.results[number][dim], dim))
        sizes = tuple(found[dim].size for dim in kept)
        result_factors = tuple(names.get(dims[dim], -1 - dims[dim]) for dim in kept)
        arguments = Arguments(factors.attributes, key, result_factors, number)
        term = table.make(work.name, arguments, terms, sizes, element)
        digits = [
            (Digit(size, kept.index(dim), 1) if dim in found else Digit(size, FREE, 0),)
            for dim, size in enumerate(shape)
        ]
        results.append(View(term, tuple(found[dim].base for dim in kept), tidy(digits), partial))
    return results


def _result_placement(factors: Factors, placements: dict[int, Placement], factor: int, size: int) -> Placement | None:
    """Return the placement of a dim of a result; None if the result repeats along it, or has size 1."""
    found = placements.get(factor)
    return found or (None if factor in factors.parallel or size == 1 else Placement(size, 0, size))


def _placements(operands: Sequence[View | Known], factors: Factors) -> dict[int, Placement]:
    """Return the placement of each factor that some operand varies along.

    Raises: NotProvedError if two operands have different windows.
    """
    placements: dict[int, Placement] = {}
    for number, (operand, dims) in enumerate(zip(operands, factors.operands, strict=True)):
        if isinstance(operand, Known):
            continue
        for factor, digits in zip(dims, operand.dims, strict=True):
            dim = dim_of(digits)
            if dim == FREE:
                continue
            found = Placement(operand.term.shape[dim], operand.base[dim], digits[0].size)
            other = placements.setdefault(factor, found)
            if other != found:
                raise NotProvedError(f"expected {other} along a dim of operand {number}, got {found}")
    return placements


def _located(operand: View | Known, dims: Sequence[int], placements: dict[int, Placement], table: TermTable) -> View:
    """Return an operand as a view. Raises: NotProvedError if a known value has another placement than others."""
    view = as_view(operand, table)
    if isinstance(operand, View) or operand.dim is None:
        return view
    found = Placement(view.term.shape[0], view.base[0], operand.shape[operand.dim])
    if placements.setdefault(dims[operand.dim], found) != found:
        raise NotProvedError(f"expected {placements[dims[operand.dim]]} along a dim, got {found}")
    return view


def _key(
    work: Computation, views: Sequence[View], placements: dict[int, Placement], order: Sequence[int]
) -> tuple[Keys, dict[int, int]]:
    """Return the factor of each dim of the terms, and the sizes of factors that no operand varies along.

    If the factors are symmetric, they are numbered in the order of the dims of the terms, and the numbers are returned
    too: a transposed op is then the same term.
    """
    factors = work.factors
    names: dict[int, int] = {}
    keys: list[tuple[tuple[int, int, int], ...]] = []
    for number in order:
        found: list[tuple[int, int, int]] = []
        for factor, digits in zip(factors.operands[number], views[number].dims, strict=True):
            dim = dim_of(digits)
            if dim != FREE:
                found.append((dim, factor, 0))
            elif factor in factors.shards:
                found.append((len(views[number].base), factor, factors.shards[factor].size))
            elif digits and factor not in placements and factor not in factors.parallel:
                found.append((len(views[number].base), factor, digits[0].size))
        found.sort()
        if factors.is_symmetric:
            found = [(dim, names.setdefault(factor, len(names)), size) for dim, factor, size in found]
        keys.append(tuple(found))
    return tuple(keys), names


def _linear_partial(work: Computation, views: Sequence[View]) -> Partial | None:
    """Return the contributions that an op on partial operands computes.

    Raises: NotProvedError if it is not linear in them.
    """
    partials = {number: view.partial for number, view in enumerate(views) if view.partial is not None}
    if not partials:
        return None
    found = next(iter(partials.values()))
    elements = {*(view.term.element for view in views), *work.elements}
    needs_floats = work.name in ("stablehlo.convert", "stablehlo.divide")
    if found.kind != "add" or (needs_floats and not all(map(is_float, elements))):
        raise NotProvedError(f"expected an all-reduce before {work.name}: an operand is a partial {found.kind}")
    for linear in work.factors.linear:
        others = [number for number in (*linear, *work.factors.neutral) if number not in partials]
        if set(partials) <= set(linear) and all(is_zero(views[each].term) for each in others):
            return reduce(together, partials.values())
    raise NotProvedError(f"expected an all-reduce before {work.name}: an operand is a partial sum")


def _reduction(work: Computation, views: Sequence[View], placements: dict[int, Placement]) -> Partial | None:
    """Return the contributions that come from reduced factors which are sharded.

    Raises: NotProvedError if shards do not contribute each element once.
    """
    factors = work.factors
    found: Partial | None = None
    for factor in sorted(factors.reduced):
        placement = placements.get(factor)
        if placement is None or placement.is_whole:
            continue
        is_repeatable = factors.kind in IDEMPOTENT
        if not is_repeatable and not all(is_neutral(views[each].term, factors.kind) for each in factors.neutral):
            raise NotProvedError("the initial value of a reduction of shards must be neutral")
        new = contributions(factors.kind, placement.base, placement.extent, placement.size, work.devices)
        found = product(found, new)
    return found
