"""Reductions of numbers of a finite field by the op of a region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from sdy.dialects.stablehlo.elementwise import AddOp, MultiplyOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import Residues, of_parts, parts_of
from sdy.interpreter.field.functions import EXACT
from sdy.interpreter.field.numbers import Field
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class FieldFold:
    """The function of two elements that an op computes, by which a dim is reduced."""

    field: Field
    op_class: type[Operation]

    def combine(self, lhs: Array, rhs: Array) -> Array:
        """Return the function of two elements."""
        return EXACT[self.op_class](self.field, lhs, rhs)

    def reduced(self, array: Array, axes: StaticShape) -> Array:
        """Reduce the elements along `axes`, of which there is at least one."""
        if self.op_class is AddOp:
            return of_parts(*(self.field.summed(part, axes) for part in parts_of(array)))
        if self.op_class is not MultiplyOp and len(parts_of(array)) == 1:
            return of_parts(self._extreme(parts_of(array)[0], axes))
        # Products and complex extremes are combined pairwise.
        kept = [axis for axis in range(array.ndim) if axis not in axes]
        rows = array.transpose([*kept, *axes]).reshape((*(array.shape[axis] for axis in kept), -1))
        while rows.shape[-1] > 1:
            even = rows.shape[-1] // 2 * 2
            rest = rows[..., even:]
            rows = np.concatenate([self.combine(rows[..., 0:even:2], rows[..., 1:even:2]), rest], axis=-1)
        return rows[..., 0]

    def fold_into(self, array: Array, targets: NDArray[np.int64], update: Array, firsts: NDArray[np.int64]) -> None:
        """Combine the rows `update`, sorted by their row of `array`, `targets`, into `array`.

        `firsts` has the first update of each row.
        """
        rows = targets[firsts]
        if self.op_class is AddOp:
            sums = (self.field.reduced(np.add.reduceat(part, firsts, axis=0)) for part in parts_of(update))
            array[rows] = self.combine(array[rows], of_parts(*sums))
            return
        ranks = np.arange(len(targets)) - np.repeat(firsts, np.diff(np.append(firsts, len(targets))))
        for rank in range(int(ranks.max(initial=-1)) + 1):
            chosen = np.flatnonzero(ranks == rank)
            array[targets[chosen]] = self.combine(array[targets[chosen]], update[chosen])

    def _extreme(self, numbers: Residues, axes: StaticShape) -> Residues:
        keys = self.field.key(numbers)
        ufunc = np.maximum if "maximum" in self.op_class.name else np.minimum
        return self.field.of_key(np.asarray(ufunc.reduce(keys, axis=axes)))
