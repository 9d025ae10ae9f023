"""The elements of its operands that each element of an op's results depends on, found by changing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.evidence.audit.one_op import Bools, OneOp, with_each_element_changed
from sdy.interpreter.arrays.field_types import equal_elements

ROUNDS = 8  # of random inputs


@dataclass(frozen=True, slots=True)
class Dependence:
    """Per result and operand, which pairs of elements depend on each other, in row-major order.

    `reads[result][operand]` has shape (elements of the result, elements of the operand). It is all False for constants.
    """

    reads: tuple[tuple[Bools, ...], ...]

    def any(self, result: int, operand: int) -> bool:
        """Return whether the result depends on the operand at all."""
        return bool(self.reads[result][operand].any())

    def first_across(
        self, result: int, operand: int, result_slices: NDArray[np.int64], operand_slices: NDArray[np.int64]
    ) -> tuple[int, int] | None:
        """Return an element of the result and one of the operand that it depends on in another slice; None if none.

        The arrays tell in which slice each element is.
        """
        across = self.reads[result][operand] & (result_slices[:, None] != operand_slices[None, :])
        found = np.argwhere(across)
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None


def dependence_of(op: OneOp) -> Dependence:
    """Find the dependence of an op by running it on random inputs, with each element changed in turn.

    A dependence that shows in none of the runs is missed. Raises: SdyError if the op cannot be run.
    """
    random = np.random.default_rng(0)
    reads = [
        [np.zeros((int(np.prod(result)), int(np.prod(operand))), np.bool_) for operand in op.shapes]
        for result in op.result_shapes
    ]
    for round_ in range(ROUNDS):
        inputs = op.drawn(random, round_)
        for position, operand in enumerate(op.inputs):
            changed = with_each_element_changed(random, inputs[position], op.dtypes[operand], op.field)
            if len(changed) == 1:
                continue  # the operand has no elements
            operands = [changed if other == position else array[None] for other, array in enumerate(inputs)]
            for result, found in enumerate(op(len(changed), operands)):
                flat = found.reshape(len(found), -1)
                reads[result][operand] |= ~equal_elements(flat[1:], flat[:1]).T
    return Dependence(tuple(map(tuple, reads)))


def slices_along(shape: Sequence[int], dim: int, count: int) -> NDArray[np.int64]:
    """Return, per element of a tensor in row-major order, its slice if the dim is split into `count` equal slices."""
    size = shape[dim]
    return np.broadcast_to(
        (np.arange(size) * count // size).reshape(-1, *(1,) * (len(shape) - dim - 1)), tuple(shape)
    ).reshape(-1)
