"""The elements of small values, one by one: equal numbers stand for equal elements of terms.

Relations say in few words what windows are. Where they do not, the elements of a small value are followed one by one:
each has a *code*, and ops that move data move codes. An element is that of a term which is not moved from others, a
constant, or an op on elements. Codes that form a window of a term of the global program are a view of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import prod
from typing import cast

import numpy as np

from sdy.dialects.stablehlo import elementwise
from sdy.proof.known import DTYPES
from sdy.proof.relations import (
    FREE,
    Codes,
    Digit,
    Digits,
    Elements,
    Known,
    NotProvedError,
    Offset,
    Partial,
    Relation,
    View,
    at,
    offset,
    tidy,
)
from sdy.proof.terms import Arguments, Shape, Term, TermTable

LARGEST = 2**17  # elements on all devices
ARBITRARY = -1
ELEMENTWISE = frozenset(each.name for each in elementwise.OPS)
MOST_PLACES = 16  # at which a code of a term is looked for


@dataclass(slots=True)
class ElementTable:
    """Codes of terms, of constants, and of ops on elements."""

    table: TermTable
    devices: int
    terms: dict[Term, Codes] = field(default_factory=dict[Term, Codes])
    # Operands and results of updates and scatters, with what else determines them.
    updates: list[tuple[Hashable, list[Codes]]] = field(default_factory=lambda: [])
    origin: Callable[[Term], Codes] | None = None  # of terms that depend on the device
    _varying: dict[Term, Codes] = field(default_factory=dict[Term, Codes])
    _ops: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _keys: dict[int, tuple[Hashable, ...]] = field(default_factory=dict[int, tuple[Hashable, ...]])
    _constants: dict[int, tuple[str, bytes]] = field(default_factory=dict[int, tuple[str, bytes]])
    _count: int = 0

    def code(self, *key: Hashable) -> int:
        """Return the code of an op on elements, given as its name, attributes and codes."""
        if key not in self._ops:
            self._ops[key] = self._count
            self._keys[self._count] = key
            self._count += 1
        return self._ops[key]

    def constant(self, element: str, raw: bytes) -> int:
        """Return the code of a constant."""
        code = self.code("constant", element, raw)
        self._constants[code] = element, raw
        return code

    def of_constant(self, code: int) -> tuple[str, bytes] | None:
        """Return the element type and the bytes of a constant, or None."""
        return self._constants.get(code)

    def of_op(self, code: int) -> tuple[str, str, list[int]]:
        """Return the name, the element type and the codes of the operands of an op on elements; "" for none."""
        name, _, element, *codes = self._keys.get(code, ("", None, ""))
        return cast("str", name), str(element), cast("list[int]", codes)

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
        if _is_on_scalars(term):
            assert isinstance(term.attributes, Arguments)
            codes = [int(self.of_term(each)) for each in term.operands]
            return np.array(self.code(term.op, term.attributes.own, term.element, *codes), np.int64)
        first, self._count = self._count, self._count + size
        return np.arange(first, self._count, dtype=np.int64).reshape(term.shape)

    def lifted(self, relation: Relation) -> Elements:
        """Return the elements of a value. Raises: NotProvedError if it is large, partial, or depends on the device."""
        if isinstance(relation, Elements):
            return relation
        if isinstance(relation, Known):
            return self._of_known(relation)
        if not isinstance(relation, View):
            raise NotProvedError("an operand has no known relation")
        if relation.partial is not None:
            return self._of_contributions(relation, relation.partial)
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
        return Elements(relation.term.element, np.where(is_inside, found, outside))

    def _of_contributions(self, view: View, partial: Partial) -> Elements:
        """Return the elements of a value that some devices have, and of which the others have zeros."""
        if partial.kind != "add" or any(mask not in (0, partial.whole) for mask in partial.masks):
            raise NotProvedError("the elements of contributions")
        whole = self.lifted(replace(view, partial=None))
        has_value = np.array(partial.masks).reshape((-1, *(1,) * len(view.shape))) != 0
        return Elements(whole.element, np.where(has_value, whole.codes, zero(self, whole.element)))

    def _on_devices(self, term: Term) -> Codes:
        """Return the codes of a term, which may depend on the device, with a dim of devices, or one for all."""
        if term.op == "device":
            raw = cast("bytes", term.attributes)
            width = len(raw) // self.devices
            return np.array([self.constant(term.element, raw[n : n + width]) for n in range(0, len(raw), width)])
        if not term.is_varying:
            return self.of_term(term)[None]
        if term not in self._varying:
            if self.origin is None:
                raise NotProvedError("the elements of a value that depends on the device")
            self._varying[term] = self.origin(term)
        return self._varying[term]

    def computed(self, key: tuple[Hashable, ...], operands: Sequence[Codes], shape: Shape) -> Codes:
        """Return the codes of an elementwise op, given as its name, attributes and element type."""
        rows = [np.broadcast_to(each, shape).reshape(-1) for each in operands]
        distinct, inverse = np.unique(np.stack(rows, 1), axis=0, return_inverse=True)
        found = [self._on_elements(key, list(map(int, row))) for row in distinct]
        return np.array(found, np.int64)[inverse.reshape(-1)].reshape(shape)

    def _on_elements(self, key: tuple[Hashable, ...], codes: list[int]) -> int:
        """Return the code of an op on elements; a select by a constant is one of them."""
        if key[0] == "stablehlo.select" and (mask := self.of_constant(codes[0])) is not None:
            return codes[1] if any(mask[1]) else codes[2]
        return ARBITRARY if ARBITRARY in codes else self.code(*key, *codes)

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

    def readings(self, value: Elements, *, is_exact: bool) -> Iterator[View | Known]:
        """Yield the elements as a known value, and as windows of terms of the global program.

        Unless `is_exact`, the windows may leave elements arbitrary that lie outside of the term.
        """
        known = self._as_known(value)
        if known is not None:
            yield known
        named = value.codes[value.codes != ARBITRARY]
        sample = next((int(each) for each in named if int(each) not in self._constants), None)
        if sample is None:
            return
        for term in sorted(self.terms, key=lambda each: each.number):
            codes = self.terms[term]
            if self.table.is_global(term) and not term.is_varying and bool((codes == sample).any()):
                found = self._as_window(value, term, codes, is_exact=is_exact)
                if found is not None:
                    yield found

    def _as_known(self, value: Elements) -> Known | None:
        """Return constants that vary along at most one dim as a known value, otherwise None."""
        distinct, inverse = np.unique(value.codes, return_inverse=True)
        raws = [self._constants[code][1] for code in map(int, distinct) if code in self._constants]
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

    def _as_window(self, value: Elements, term: Term, codes: Codes, *, is_exact: bool) -> View | None:
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
            bases = [next(places_of(row.transpose(order), codes, is_exact=is_exact), None) for row in rows]
            if None in bases:
                continue
            found = cast("list[tuple[int, ...]]", bases)
            base = tuple(_offset([each[dim] for each in found], self.devices) for dim in range(codes.ndim))
            digits: list[Digits] = [(Digit(size, FREE, 0),) if size > 1 else () for size in shape]
            for number, dim in enumerate(dims):
                digits[dim] = (Digit(shape[dim], number, 1),)
            return View(term, base, tidy(digits))
        return None


def _is_on_scalars(term: Term) -> bool:
    """Return whether a term is an elementwise op on scalars."""
    return term.op in ELEMENTWISE and not any(each.shape for each in (term, *term.operands))


def zero(table: ElementTable, element: str) -> int:
    """Return the code of a zero of either sign."""
    return table.code("zero", None, element)


def places_of(part: Codes, codes: Codes, *, is_exact: bool) -> Iterator[tuple[int, ...]]:
    """Yield where the codes of a term have those of a part, as far as it lies in the term and is not arbitrary.

    If `is_exact`, elements outside of the term must be arbitrary.
    """
    if part.ndim == 0:
        if int(part) in (int(codes), ARBITRARY):
            yield ()
        return
    named = np.argwhere(part != ARBITRARY)
    if not len(named):
        yield tuple(2 * size + 1 for size in codes.shape)
        return
    for center in (named[len(named) // 2], named[0]):
        for place in np.argwhere(codes == part[tuple(center)])[:MOST_PLACES]:
            base = place - center
            low, high = np.maximum(base, 0), np.minimum(base + part.shape, codes.shape)
            inner = codes[tuple(map(slice, low, high))]
            mine = part[tuple(map(slice, low - base, high - base))]
            if bool((inner == mine).all()) and (not is_exact or mine.size == len(named)):
                yield tuple(base.tolist())


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
