"""The elements of small values, one by one: equal numbers stand for equal elements of terms.

Relations say in few words what windows are. Where they do not, the elements of a small value are followed one by one:
each has a *code*, and ops that move data move codes. An element is that of a term which is not moved from others, a
constant, or an op on elements. Codes that form a window of a term of the global program are a view of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from typing import Any, cast

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
    Relation,
    View,
    at,
    offset,
    tidy,
)
from sdy.proof.terms import Arguments, Term, TermTable

LARGEST = 2**17  # elements on all devices
ARBITRARY = -1


def _clamp(low: int, value: int, high: int) -> int:
    return min(max(value, low), high)


INTEGER_OPS: dict[str, Callable[..., int]] = {
    "stablehlo.add": int.__add__,
    "stablehlo.subtract": int.__sub__,
    "stablehlo.convert": int,
    "stablehlo.maximum": max,
    "stablehlo.minimum": min,
    "stablehlo.clamp": _clamp,
}
ELEMENTWISE = frozenset(each.name for each in elementwise.OPS)
MOST_PLACES = 16  # at which a code of a term is looked for


@dataclass(slots=True)
class ElementTable:
    """Codes of terms, of constants, and of ops on elements."""

    table: TermTable
    devices: int
    terms: dict[Term, Codes] = field(default_factory=dict[Term, Codes])
    updates: list[list[Codes]] = field(default_factory=list[list[Codes]])  # operands and result of those of slices
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

    def of_constant(self, code: int) -> bytes | None:
        """Return the bytes of a constant, or None."""
        return self._constants[code][1] if code in self._constants else None

    def integer(self, code: int) -> int | None:
        """Return the integer that a code stands for; None if it is not known."""
        element, raw = self._constants.get(code, ("", b""))
        return int(np.frombuffer(raw, DTYPES[element])[0]) if element.strip("u")[:1] == "i" else None

    def integers(self, value: Elements) -> Codes:
        """Return the integers that elements are. Raises: NotProvedError if they are not known."""
        found = [self.integer(int(each)) for each in value.codes.reshape(-1)]
        if None in found:
            raise NotProvedError("expected starts that are known")
        return np.array(found, np.int64).reshape(value.codes.shape)

    def value(self, code: int, symbol: int, value: int, last: int) -> int | None:
        """Return the integer that `code` stands for if `symbol`, clamped to `[0, last]`, is `value`.

        None if that is not known: the symbol may occur in this clamp only.
        """
        if (known := self.integer(code)) is not None:
            return known
        name, _, element, *operands = self._keys.get(code, ("", None, ""))
        codes = cast("list[int]", operands)
        if name == "stablehlo.clamp" and codes[1] == symbol:
            return value if (self.integer(codes[0]), self.integer(codes[2])) == (0, last) else None
        found = [self.value(each, symbol, value, last) for each in codes] if name in INTEGER_OPS else [None]
        if None in found or not str(element).strip("u").startswith("i"):
            return None
        result = INTEGER_OPS[cast("str", name)](*cast("list[int]", found))
        limits = np.iinfo(cast("type[np.integer[Any]]", DTYPES[str(element)]))
        return result if limits.min <= result <= limits.max else None

    def note_update(self, relations: Sequence[Relation]) -> None:
        """Note the operands and the result of an update of a slice in the global program, if they are small."""
        try:
            self.updates.append([self.lifted(each).codes[0] for each in relations])
        except NotProvedError:
            return

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
        if relation.partial is None and relation.term.is_varying and not relation.base:
            codes = np.array([self._of_scalar(relation.term, device) for device in range(self.devices)], np.int64)
            shape = (self.devices, *(1,) * len(relation.shape))
            everywhere = np.broadcast_to(codes.reshape(shape), (self.devices, *relation.shape))
            return Elements(relation.term.element, everywhere.copy())
        if relation.partial is not None or relation.term.is_varying:
            raise NotProvedError("the elements of contributions, or of a value that depends on the device")
        uniform = all(isinstance(base, int) for base in relation.base)
        count = 1 if uniform else self.devices
        check_size(count * prod(relation.shape))
        source, ends = self.of_term(relation.term), relation.term.shape
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
        found = source[tuple(places)] if places else np.broadcast_to(source, shape)
        return Elements(relation.term.element, np.where(is_inside, found, outside))

    def _of_scalar(self, term: Term, device: int) -> int:
        """Return the code of a scalar on a device."""
        if term.op == "device":
            raw = cast("bytes", term.attributes)
            width = len(raw) // self.devices
            return self.constant(term.element, raw[device * width : (device + 1) * width])
        if not term.is_varying:
            return int(self.of_term(term))
        if not _is_on_scalars(term):
            raise NotProvedError("the elements of a value that depends on the device")
        assert isinstance(term.attributes, Arguments)
        codes = [self._of_scalar(each, device) for each in term.operands]
        return self.code(term.op, term.attributes.own, term.element, *codes)

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

    def readings(self, value: Elements) -> Iterator[View | Known]:
        """Yield the elements as a known value, and as windows of terms of the global program."""
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
                found = self._as_window(value, term, codes)
                if found is not None:
                    yield found

    def _as_known(self, value: Elements) -> Known | None:
        """Return constants that vary along at most one dim as a known value, otherwise None."""
        distinct, inverse = np.unique(value.codes, return_inverse=True)
        raws = [self.of_constant(int(each)) for each in distinct]
        if value.element not in DTYPES or None in raws:
            return None
        codes = value.codes
        varying = [dim for dim in range(1, codes.ndim) if bool((codes != codes.take([0], dim)).any())]
        if len(varying) > 1:
            return None
        dim = varying[0] if varying else None
        numbers = np.frombuffer(b"".join(cast("list[bytes]", raws)), DTYPES[value.element])[
            inverse.reshape(codes.shape)
        ]
        index = tuple(slice(None) if each in (0, dim) else 0 for each in range(codes.ndim))
        rows = numbers[index].reshape(len(codes), -1)
        return Known(value.element, value.shape, None if dim is None else dim - 1, rows)

    def _as_window(self, value: Elements, term: Term, codes: Codes) -> View | None:
        """Return the elements as a window of a term, whose dims may be in another order; None if they are none."""
        shape = value.shape
        for dims in permutations(range(len(shape)), codes.ndim):
            repeated = [dim for dim in range(len(shape)) if dim not in dims]
            one = value.codes[
                tuple(slice(None) if d == 0 or d - 1 in dims else slice(1) for d in range(len(shape) + 1))
            ]
            if any(shape[dim] > 1 for dim in repeated) and not bool((one == value.codes).all()):
                continue
            rows = one.reshape((len(one), *(shape[dim] for dim in sorted(dims))))
            order = np.argsort(np.argsort(dims)).tolist()
            bases = [next(places_of(row.transpose(order), codes), None) for row in rows]
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


def places_of(part: Codes, codes: Codes) -> Iterator[tuple[int, ...]]:
    """Yield where the codes of a term have those of a part, as far as it lies in the term and is not arbitrary."""
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
            if bool((inner == mine).all()):
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
