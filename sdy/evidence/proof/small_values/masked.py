"""Masked floats: those that conditions which are not known choose from zero and other numbers.

The code of such a choice is that of the number times the condition. A product with it must not be one with the number,
times the condition: where the condition is false, zero is multiplied by infinity, or divided by zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sdy.evidence.proof.relations import ARBITRARY, Codes
from sdy.evidence.proof.rings import is_integer
from sdy.evidence.proof.small_values.choices import Choices


@dataclass(slots=True)
class Masked:
    """The codes of masked floats.

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
