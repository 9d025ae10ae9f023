"""Terms: the global values that a program computes, numbered so that equal computations are one object.

A term has no dims of size 1 and no dim along which it is known to be constant; those are described by the views of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
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
    # What the global program has: constants of rank 1 by type, slices of terms, or of slices of them, by their parts,
    # and terms that have the elements of a term in the same order.
    constants: defaultdict[str, list[Term]] = field(default_factory=lambda: defaultdict(list))
    slices: defaultdict[Term, dict[Parts, Term]] = field(default_factory=lambda: defaultdict(dict))
    reshapes: defaultdict[Term, list[Term]] = field(default_factory=lambda: defaultdict(list))

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
                self.constants[element].append(term)
            if op == "reshape" and attributes is None:
                self.reshapes[operands[0]].append(term)
        return term

    def is_global(self, term: Term) -> bool:
        """Return whether the global program computes the term."""
        return term in self._global_terms


NAMED = "value"  # the result of an op of the program that no lemma covers
