"""The elements of small values, one by one: equal numbers stand for equal elements of terms.

Relations say in few words what windows are. Where they do not, the elements of a small value are followed one by one:
each has a *code*, see `rings`. Ops that move data move codes, and others compute codes from codes. Codes that form a
window of a term of the global program are a view of it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from random import Random
from typing import cast

import numpy as np
import numpy.typing as npt

from sdy.evidence.proof.known import DTYPES, whole
from sdy.evidence.proof.offsets import Offset, at, offset
from sdy.evidence.proof.relations import (
    ARBITRARY,
    FREE,
    Codes,
    Digit,
    Digits,
    Elements,
    Known,
    NotProvedError,
    Relation,
    View,
    tidy,
)
from sdy.evidence.proof.rings import (
    ONE,
    PRIMES,
    SMALL,
    as_integer,
    is_integer,
    mixed,
    of_integer,
    packed,
    random_code,
)
from sdy.evidence.proof.small_values.choices import Choices
from sdy.evidence.proof.terms import Term, TermTable

LARGEST = 2**17  # elements on all devices
MOST_PLACES = 16  # at which a code of a term is looked for


@dataclass(slots=True)
class ElementTable:
    """Codes of terms, of constants, and of ops on elements."""

    table: TermTable
    devices: int
    terms: dict[Term, Codes] = field(default_factory=dict[Term, Codes])
    members: dict[tuple[str, str], dict[int, frozenset[int]]] = field(
        default_factory=dict[tuple[str, str], dict[int, frozenset[int]]]
    )  # of maximums and the like, by kind and element type
    constants: dict[tuple[str, int], bytes] = field(
        default_factory=dict[tuple[str, int], bytes]
    )  # the bytes of each so far, by element type and code
    degrees: dict[Term, int] = field(default_factory=dict[Term, int])  # of the polynomials of terms
    choices: Choices = field(init=False)
    masked: Masked = field(init=False)
    _seeds: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _variables: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _of_variables: Random = field(default_factory=lambda: Random(2**61 - 1))
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2**61 - 1))

    def __post_init__(self) -> None:
        self.choices = Choices(self.variable)
        self.masked = Masked(self.choices)

    def variables(self, key: Hashable, operands: Sequence[Codes]) -> Codes:
        """Return the codes of an op on elements other than sums and products, given as its name and attributes."""
        if key not in self._seeds:
            self._seeds[key] = int(self._random.integers(2**63))
        return mixed(self._seeds[key], operands)

    def variable(self, *key: Hashable) -> int:
        """Return the code of a variable."""
        if key not in self._variables:
            self._variables[key] = random_code(self._of_variables)
        return self._variables[key]

    def constant(self, element: str, raw: bytes) -> int:
        """Return the code of a constant: integers are numbers of polynomials, as is the zero of other types."""
        if is_integer(element) and element in DTYPES:
            number = int(np.frombuffer(raw, DTYPES[element])[0])
            code = of_integer(number)
            if abs(number) >= SMALL:  # a variable, since it may be a multiple of the primes
                code = self.variable("integer", number)
                self.choices.large[code] = number
        elif element == "i1":
            return ONE if any(raw) else 0
        else:
            code = self.variable("constant", element, raw) if any(raw) else 0
        self.constants[element, code] = raw
        return code

    def minus_zero(self, element: str) -> int:
        """Return the code of the zero of floats that changes no other number when it is added."""
        width = {"f64": 8, "f32": 4}.get(element, 2)
        return self.variable("constant", element, b"\0" * (width - 1) + b"\x80")

    def raw(self, element: str, code: int) -> bytes | None:
        """Return the bytes of a constant, or None."""
        if element not in DTYPES or (element, code) in self.constants:
            return self.constants.get((element, code))
        number = as_integer(code)
        if number is None or not (is_integer(element) or code in (0, ONE * (element == "i1"))):
            return None
        return np.array(number).astype(DTYPES[element]).tobytes()

    def of_term(self, term: Term) -> Codes:
        """Return the codes of a term: those of the term that it is a part or another arrangement of, or new ones."""
        if term not in self.terms:
            self.terms[term] = self._of_new_term(term)
            assert self.terms[term].shape == term.shape
        return self.terms[term]

    def _of_new_term(self, term: Term) -> Codes:
        size = prod(term.shape)
        check_size(size)
        if term.op == "constant" and size and len(raw := cast("bytes", term.attributes)) % size == 0:
            width = len(raw) // size
            codes = [self.constant(term.element, raw[n : n + width]) for n in range(0, len(raw), width)]
            return np.array(codes, np.int64).reshape(term.shape)
        if term.op == "slice":
            found = self.of_term(term.operands[0])
            parts = cast("tuple[tuple[int, int, int], ...]", term.attributes)
            steps = tuple(slice(start, start + (n - 1) * (step or 1) + 1, step or 1) for start, n, step in parts)
            return found[steps].reshape(term.shape)
        if term.op == "reshape":
            found = self.of_term(term.operands[0])
            order = cast("tuple[int, ...] | None", term.attributes)
            return (found if order is None else found.transpose(order)).reshape(term.shape)
        if term.op == "broadcast":
            (inner,) = term.operands
            return np.broadcast_to(
                self.of_term(inner).reshape(inner.shape + (1,) * (len(term.shape) - len(inner.shape))), term.shape
            )
        return packed(self._random.integers(PRIMES, size=(*term.shape, 2)))

    def lifted(self, relation: Relation) -> Elements:
        """Return the elements of a value. Raises: NotProvedError if it is large, partial, or depends on the device."""
        if isinstance(relation, Elements):
            return relation
        if isinstance(relation, Known):
            return self._of_known(relation)
        if not isinstance(relation, View):
            raise NotProvedError("an operand has no known relation")
        if relation.partial is not None:
            raise NotProvedError("the elements of contributions")
        source, ends = self._on_devices(relation.term), relation.term.shape
        uniform = len(source) == 1 and all(isinstance(base, int) for base in relation.base)
        count = 1 if uniform else self.devices
        check_size(count * prod(relation.shape))
        outside = ARBITRARY
        if relation.outside is not None and not relation.outside.shape and not relation.outside.is_varying:
            outside = int(self.of_term(relation.outside))
        shape = (count, *relation.shape)
        is_inside = np.ones(shape, np.bool_)
        places: list[Codes] = []
        for dim, size in enumerate(ends):
            place = np.zeros(shape, np.int64) + _per_device(relation.base[dim], count, len(relation.shape))
            for local, digits in enumerate(relation.dims):
                along = _positions(digits, dim)
                place += along.reshape((-1, *(1,) * (len(relation.shape) - local - 1)))
            is_inside &= (place >= 0) & (place < size)
            places.append(np.clip(place, 0, size - 1))
        device = np.arange(count).reshape((-1, *(1,) * len(relation.shape))) % len(source)
        found = np.broadcast_to(source[(device, *places)], shape)
        return Elements(relation.term.element, np.where(is_inside, found, outside), self.degrees.get(relation.term, 1))

    def _on_devices(self, term: Term) -> Codes:
        """Return the codes of a term, with a dim of devices, or one for all."""
        if term.op == "device":
            raw = cast("bytes", term.attributes)
            width = len(raw) // self.devices
            return np.array([self.constant(term.element, raw[n : n + width]) for n in range(0, len(raw), width)])
        if term.is_varying:
            raise NotProvedError("the elements of a value that depends on the device")
        return self.of_term(term)[None]

    def _of_known(self, value: Known) -> Elements:
        rows = value.rows
        check_size(len(rows) * prod(value.shape))
        distinct, inverse = np.unique(rows.view(f"u{rows.itemsize}"), return_inverse=True)
        codes = np.array([self.constant(value.element, each.tobytes()) for each in distinct], np.int64)[inverse]
        codes = codes.reshape(rows.shape)
        shape = [1] * len(value.shape)
        if value.dim is not None:
            shape[value.dim] = rows.shape[1]
        return Elements(
            value.element, np.broadcast_to(codes.reshape((len(rows), *shape)), (len(rows), *value.shape)).copy()
        )

    def view_of(self, value: Elements) -> View | Known:
        """Return elements that are the same on all devices as a view, of a new term unless they are a window."""
        found = self.reading(value)
        if found is not None:
            return found
        codes = value.codes.reshape([size for size in value.shape if size > 1])
        term = self.table.make("elements", codes.tobytes(), (), codes.shape, value.element)
        self.terms[term], self.degrees[term] = codes, value.degree
        return whole(term, value.shape)

    def reading(self, value: Elements) -> View | Known | None:
        """Return the elements as a known value, or as a window of a term of the global program; None if they are none.

        Elements outside of the term must be arbitrary.
        """
        known = self._as_known(value)
        if known is not None:
            return known
        named = value.codes[value.codes != ARBITRARY]
        sample = next((each for each in named.tolist() if self.raw(value.element, each) is None), None)
        if sample is None:
            return None
        for term in sorted(self.terms, key=lambda each: each.number):
            codes = self.terms[term]
            if self.table.is_global(term) and not term.is_varying and bool((codes == sample).any()):
                found = self._as_window(value, term, codes)
                if found is not None:
                    return found
        return None

    def _as_known(self, value: Elements) -> Known | None:
        """Return constants that vary along at most one dim as a known value, otherwise None."""
        distinct, inverse = np.unique(value.codes, return_inverse=True)
        raws = [raw for code in distinct.tolist() if (raw := self.raw(value.element, code)) is not None]
        if value.element not in DTYPES or len(raws) < len(distinct):
            return None
        codes = value.codes
        varying = [dim for dim in range(1, codes.ndim) if bool((codes != codes.take([0], dim)).any())]
        if len(varying) > 1:
            return None
        dim = varying[0] if varying else None
        numbers = np.frombuffer(b"".join(raws), DTYPES[value.element])
        index = tuple(slice(None) if each in (0, dim) else 0 for each in range(codes.ndim))
        rows = numbers[inverse.reshape(codes.shape)[index]].reshape(len(codes), -1)
        return Known(value.element, value.shape, None if dim is None else dim - 1, rows)

    def _as_window(self, value: Elements, term: Term, codes: Codes) -> View | None:
        """Return the elements as a window of a term, whose dims may be in another order; None if they are none."""
        shape = value.shape
        for dims in permutations(range(len(shape)), codes.ndim):
            repeated = [dim for dim in range(len(shape)) if dim not in dims]
            kept = (slice(None) if dim in dims else slice(1) for dim in range(len(shape)))
            one = value.codes[(slice(None), *kept)]
            if any(shape[dim] > 1 for dim in repeated) and not bool((one == value.codes).all()):
                continue
            rows = one.reshape((len(one), *(shape[dim] for dim in sorted(dims))))
            order = np.argsort(np.argsort(dims)).tolist()
            bases = [place_of(row.transpose(order), codes) for row in rows]
            if None in bases:
                continue
            found = cast("list[tuple[int, ...]]", bases)
            base = tuple(_offset([each[dim] for each in found], self.devices) for dim in range(codes.ndim))
            digits: list[Digits] = [(Digit(size, FREE, 0),) if size > 1 else () for size in shape]
            for number, dim in enumerate(dims):
                digits[dim] = (Digit(shape[dim], number, 1),)
            return View(term, base, tidy(digits))
        return None


def place_of(part: Codes, codes: Codes) -> tuple[int, ...] | None:
    """Return where the codes of a term have those of a part, which are arbitrary where it lies outside of the term."""
    if part.ndim == 0:
        return () if int(part) in (int(codes), ARBITRARY) else None
    named = np.argwhere(part != ARBITRARY)
    if not len(named):
        return tuple(2 * size + 1 for size in codes.shape)
    center = named[len(named) // 2]
    places = np.argwhere(codes == part[tuple(center)])
    if len(places) > MOST_PLACES:  # take the code that the term has at the fewest places
        distinct, counts = np.unique(codes, return_counts=True)
        found = np.searchsorted(distinct, part[tuple(named.T)]).clip(max=len(distinct) - 1)
        center = named[np.argmin(counts[found])]
        places = np.argwhere(codes == part[tuple(center)])
    for place in places[:MOST_PLACES]:
        base = place - center
        low, high = np.maximum(base, 0), np.minimum(base + part.shape, codes.shape)
        inner = codes[tuple(map(slice, low, high))]
        mine = part[tuple(map(slice, low - base, high - base))]
        if mine.size == len(named) and bool((inner == mine).all()):
            return tuple(base.tolist())
    return None


def check_size(count: int) -> None:
    """Raise NotProvedError if a value has too many elements to follow them one by one."""
    if count > LARGEST:
        raise NotProvedError("a value of so many elements is followed by its windows only")


def _per_device(base: Offset, count: int, rank: int) -> Codes:
    values = [at(base, device) for device in range(count)]
    return np.array(values, np.int64).reshape((count, *(1,) * rank))


def _positions(digits: Digits, dim: int) -> Codes:
    """Return, per element of a local dim, how far it is along a dim of the term."""
    found = np.zeros((1,), np.int64)
    for size, of, stride in digits:
        steps = np.arange(size, dtype=np.int64) * (stride if of == dim else 0)
        found = (found[:, None] + steps[None, :]).reshape(-1)
    return found


def _offset(values: Sequence[int], devices: int) -> Offset:
    return offset(tuple(values) * (devices if len(values) == 1 else 1))


@dataclass(slots=True)
class Masked:
    """The codes of masked floats: those that conditions which are not known choose from zero and other numbers.

    The code of such a choice is that of the number times the condition. A product with it must not be one with the
    number, times the condition: where the condition is false, zero is multiplied by infinity, or divided by zero.

    They are a set, not a sorted array: a scatter notes some per update, and would copy those of all others each time.
    """

    choices: Choices
    _codes: set[int] = field(default_factory=set[int])

    def has(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Return which codes are those of masked floats."""
        if not self._codes:
            return np.zeros(codes.shape, np.bool_)
        found = map(self._codes.__contains__, codes.ravel().tolist())
        return np.fromiter(found, np.bool_, codes.size).reshape(codes.shape)

    def note(self, codes: Codes, are_masked: npt.NDArray[np.bool_]) -> None:
        """Note that codes are masked, apart from those that are an element at a start that is not known."""
        found = {*codes[are_masked].tolist()} - {ARBITRARY}
        self._codes.update(each for each in found if each not in self.choices.selected)

    def note_choice(self, element: str, codes: Codes, *sources: Codes) -> None:
        """Note that codes are masked if they are none of the sources, of which some is zero or masked."""
        if is_integer(element) or element == "i1":
            return
        is_new, may_be_zero = np.ones(codes.shape, np.bool_), np.zeros(codes.shape, np.bool_)
        for each in sources:
            is_new &= codes != each
        if is_new.any():
            for each in sources:
                may_be_zero |= (each == 0) | self.has(each)
            self.note(codes, is_new & may_be_zero)
