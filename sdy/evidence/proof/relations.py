"""Relations of a local value to a global one: a view of a term, a value known per device, or none."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sdy.evidence.proof.offsets import Offset, is_inside
from sdy.evidence.proof.terms import Shape, Term

FREE = -1


class NotProvedError(Exception):
    """Raised by a lemma that does not apply, with the reason."""


class Digit(NamedTuple):
    """A part of a local dim: `size` steps of `stride` along dim `dim` of the term, or of none (FREE)."""

    size: int
    dim: int
    stride: int


Digits = tuple[Digit, ...]  # of one local dim, major first


@dataclass(frozen=True, slots=True)
class Partial:
    """Devices hold contributions to a value: `masks` has, per device, the set of contributions in its own, as bits.

    All contributions, the bits of `whole`, are combined by `kind`: add, maximum, minimum, and, or, multiply; or they
    are those of a `Lookup`, of which a mask makes contributions to a sum.
    """

    kind: Hashable
    masks: tuple[int, ...]
    whole: int


@dataclass(frozen=True, slots=True)
class View:
    """The local value is a window of a term.

    On device p, element i is element `base[k][p] + sum of digits` along each dim k of the term. An element outside of
    the term is arbitrary.
    """

    term: Term
    base: tuple[Offset, ...]
    dims: tuple[Digits, ...]
    partial: Partial | None = None

    @property
    def shape(self) -> Shape:
        """The shape of the local value."""
        return tuple(prod(digit.size for digit in digits) for digits in self.dims)


def have_same_bits(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    """Return whether arrays are equal, and zeros have equal signs."""
    bits = f"u{one.itemsize}"
    return bool((np.ascontiguousarray(one).view(bits) == np.ascontiguousarray(other).view(bits)).all())


class Known:
    """A local value that is known on each device; it varies along at most one dim.

    `rows` has one row per device, or one for all devices; and one column per index of `dim`, or one for all of them.
    """

    __slots__ = ("_key", "dim", "element", "rows", "shape")

    def __init__(self, element: str, shape: Shape, dim: int | None, rows: npt.NDArray[np.generic]) -> None:
        if dim is not None and (rows.shape[1] == 1 or have_same_bits(rows, rows[:, :1])):
            dim = None
        rows = rows[:, :1] if dim is None else rows
        if rows.shape[0] > 1 and have_same_bits(rows, rows[:1]):
            rows = rows[:1]
        self.element, self.shape, self.dim, self.rows = element, shape, dim, rows
        self._key = (element, shape, dim, rows.shape, rows.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def is_uniform(self) -> bool:
        """Return whether the value is the same on all devices."""
        return self.rows.shape[0] == 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """No relation is known."""

    shape: Shape


Relation = View | Known | Unknown


def extents(view: View) -> list[int]:
    """Return, per dim of the term, the number of elements from the first to the last one in the window."""
    last = [0] * len(view.base)
    for digits in view.dims:
        for size, dim, stride in digits:
            if dim != FREE:
                last[dim] += (size - 1) * stride
    return [each + 1 for each in last]


def is_within(view: View) -> bool:
    """Return whether all elements of the window lie within the term on every device."""
    return all(map(is_inside, view.base, extents(view), view.term.shape))


def tidy(dims: Iterable[Digits]) -> tuple[Digits, ...]:
    """Return digits with neighbours joined where they are one digit, and without digits of size 1 that say nothing."""
    listed = [list(digits) for digits in dims]
    long = {digit.dim for digits in listed for digit in digits if digit.size > 1}
    tidied: list[Digits] = []
    seen: set[int] = set()
    for digits in listed:
        kept: list[Digit] = []
        for digit in digits:
            if digit.size == 1:
                if digit.dim == FREE or digit.dim in long or digit.dim in seen:
                    continue
                seen.add(digit.dim)
                kept.append(Digit(1, digit.dim, 1))
            elif (
                kept
                and kept[-1].size > 1
                and kept[-1].dim == digit.dim
                and kept[-1].stride == digit.size * digit.stride
            ):
                kept[-1] = Digit(kept[-1].size * digit.size, digit.dim, digit.stride)
            else:
                kept.append(digit)
        tidied.append(tuple(kept))
    return tuple(tidied)


def is_plain(view: View) -> bool:
    """Return whether each local dim is a range of one dim of the term, or free, and each dim of the term is used."""
    used = 0
    for digits in view.dims:
        if len(digits) > 1 or (digits and digits[0].dim != FREE and digits[0].stride != 1):
            return False
        used += bool(digits) and digits[0].dim != FREE
    return used == len(view.base)


def dim_of(digits: Digits) -> int:
    """Return the dim of the term that the local dim of a plain view is a range of; FREE for none."""
    return digits[0].dim if digits else FREE
