"""Terms: the global values that a program computes, numbered so that equal computations are one object.

A term has no dims of size 1 and no dim along which it is known to be constant; those are described by the views of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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


@dataclass(frozen=True, slots=True)
class Derived:
    """A term that the global program computes from another one by moving data.

    `layout` has, for a reshape, the dim of the term that each dim of the value is, or -1; for a padded copy, the dim of
    the term that each dim of the source is. `edges` has the elements before a padded copy, per dim of the source.
    `parts` has, for a slice, or a slice of a slice, the start, the size and the step in each dim of the source.
    """

    term: Term
    layout: tuple[int, ...]
    edges: tuple[int, ...]
    parts: Parts


@dataclass(slots=True)
class TermTable:
    """All terms so far. While `is_recording`, the terms of the global program are noted, to guide the proof."""

    is_recording: bool = True
    _terms: dict[Hashable, Term] = field(default_factory=dict[Hashable, Term])
    _global_terms: set[Term] = field(default_factory=set[Term])
    _constants: dict[str, list[Term]] = field(default_factory=dict[str, list[Term]])
    _slices: dict[tuple[Term, Parts], Term] = field(default_factory=dict[tuple[Term, Parts], Term])
    _derived: dict[Term, dict[Term, Derived]] = field(default_factory=dict[Term, dict[Term, Derived]])

    def make(self, op: str, attributes: Hashable, operands: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """Return the term of an op, the same object for the same arguments."""
        key = (op, attributes, operands, shape, element)
        term = self._terms.get(key)
        if term is None:
            is_varying = op in VARYING or (op != "while" and any(each.is_varying for each in operands))
            term = self._terms[key] = Term(op, attributes, operands, shape, element, is_varying, len(self._terms))
        if self.is_recording and term not in self._global_terms:
            self._global_terms.add(term)
            if op == "constant" and len(shape) == 1:
                self._constants.setdefault(element, []).append(term)
        return term

    def constants(self, element: str) -> Sequence[Term]:
        """Return the constants of rank 1 in the global program."""
        return self._constants.get(element, ())

    def derive(
        self,
        source: Term,
        term: Term,
        layout: tuple[int, ...] = (),
        edges: tuple[int, ...] = (),
        parts: Parts = (),
    ) -> None:
        """Note that the global program moves the data of `source` into `term`."""
        if self.is_recording and source is not term:
            self._derived.setdefault(source, {})[term] = Derived(term, layout, edges, parts)
            if term.op == "slice":
                self._slices[source, parts] = term

    def slice_of(self, source: Term, parts: Parts) -> Term | None:
        """Return the term of the global program that is a slice of another one, or a slice of a slice."""
        return self._slices.get((source, parts))

    def derived(self, source: Term) -> tuple[Derived, ...]:
        """Return the terms into which the global program moves the data of `source`."""
        return tuple(self._derived.get(source, {}).values())

    def is_global(self, term: Term) -> bool:
        """Return whether the global program computes the term."""
        return term in self._global_terms


NAMED = "value"  # the result of an op of the program that no lemma covers
VARYING = frozenset({"device", "local_gather"})  # they depend on the device
