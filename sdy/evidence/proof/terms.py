"""Terms: the global values that a program computes, numbered so that equal computations are one object.

A term has no dims of size 1 and no dim along which it is known to be constant; those are described by the views of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Shape = tuple[int, ...]
Parts = tuple[tuple[int, int, int], ...]  # of a slice: start, size, and step, 0 for one element, in each dim


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A global value: an op with attributes on operands, compared by identity.

    A *varying* term depends on the device: it stands for one global value per device.
    """

    op: str
    attributes: Hashable
    operands: tuple[Term, ...]
    shape: Shape
    element: str
    is_varying: bool
    number: int

    def __str__(self) -> str:
        return f"{self.op} : {'x'.join((*map(str, self.shape), self.element))}"


class Arguments(NamedTuple):
    """The attributes of a term that is computed by an op: its own ones, and how its operands are arranged.

    `factors` has, per operand, triples of a dim of the operand, the factor that it is, and a size if it is not in the
    term; sorted by dim. `result_factors` has the factor of each dim of the result, which tells a sum of rows from a sum
    of columns. `result` is the number of the result.
    """

    own: Hashable
    factors: tuple[tuple[tuple[int, int, int], ...], ...]
    result_factors: tuple[int, ...]
    result: int


@dataclass(slots=True)
class TermTable:
    """All terms so far. While `is_recording`, the terms of the global program are noted, to guide the proof."""

    is_recording: bool = True
    _terms: dict[Hashable, Term] = field(default_factory=dict[Hashable, Term])
    _global_terms: set[Term] = field(default_factory=set[Term])
    _constants: dict[str, list[Term]] = field(default_factory=dict[str, list[Term]])
    _slices: dict[Term, dict[Parts, Term]] = field(default_factory=dict[Term, dict[Parts, Term]])
    _reshapes: dict[Term, list[Term]] = field(default_factory=dict[Term, "list[Term]"])

    def make(self, op: str, attributes: Hashable, operands: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """Return the term of an op, the same object for the same arguments."""
        key = (op, attributes, operands, shape, element)
        term = self._terms.get(key)
        if term is None:
            is_varying = op == "device" or (op != "while" and any(each.is_varying for each in operands))
            term = self._terms[key] = Term(op, attributes, operands, shape, element, is_varying, len(self._terms))
        if self.is_recording and term not in self._global_terms:
            self._global_terms.add(term)
            if op == "constant" and len(shape) == 1:
                self._constants.setdefault(element, []).append(term)
            if op == "reshape" and attributes is None:
                self._reshapes.setdefault(operands[0], []).append(term)
        return term

    def constants(self, element: str) -> Sequence[Term]:
        """Return the constants of rank 1 in the global program."""
        return self._constants.get(element, ())

    def note_slice(self, source: Term, parts: Parts, term: Term) -> None:
        """Note that the global program takes a slice of a term, or a slice of a slice."""
        if self.is_recording and source is not term:
            self._slices.setdefault(source, {})[parts] = term

    def slices_of(self, source: Term) -> Mapping[Parts, Term]:
        """Return the terms of the global program that are slices of a term, or slices of slices, by their parts."""
        return self._slices.get(source, {})

    def reshapes_of(self, source: Term) -> Sequence[Term]:
        """Return the terms of the global program that have the elements of a term in the same order."""
        return self._reshapes.get(source, ())

    def is_global(self, term: Term) -> bool:
        """Return whether the global program computes the term."""
        return term in self._global_terms


NAMED = "value"  # the result of an op of the program that no lemma covers
