"""Check that an op that is run on slices of its operands computes the slices, or the terms, of its results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.audit.draws import draw_all
from sdy.evidence.audit.one_op import OneOp
from sdy.interpreter.arrays.comparison import almost_equal
from sdy.interpreter.arrays.element_types import Array
from sdy.model.shape import StaticShape

ROUNDS = 4
TOLERANCE = 1e-4
DimOfTensor = Mapping[int, int]  # per operand or result that is split, the dim along which it is


def runs_unchanged_on_slices(whole: OneOp, operands: DimOfTensor, results: DimOfTensor, count: int) -> bool:
    """Return whether the same op on each of `count` slices gives the slices of the results.

    Results that are not split must be the sum of what the slices give. An op that reads the position of an element, or
    whose attributes contain sizes, fails, even if another op on slices would do.
    """
    shapes = [_slice_shape(shape, operands.get(index), count) for index, shape in enumerate(whole.shapes)]
    result_shapes = [_slice_shape(shape, results.get(index), count) for index, shape in enumerate(whole.result_shapes)]
    random = np.random.default_rng(0)
    kinds = [whole.shape_and_dtype(position) for position in range(len(whole.inputs))]
    try:
        part = OneOp(whole.op, shapes, result_shapes)
        for round_ in range(ROUNDS):
            inputs = draw_all(random, kinds, round_)
            expected = [each[0] for each in whole(2, [array[None] for array in inputs])]
            slices = [
                _slices(array, operands[operand], count) if operand in operands else array[None]
                for operand, array in zip(whole.inputs, inputs, strict=True)
            ]
            for index, found in enumerate(part(count, slices)):
                joined = (
                    np.concatenate(list(found), axis=results[index])
                    if index in results
                    else np.add.reduce(found, axis=0, dtype=found.dtype)
                )
                if joined.shape != expected[index].shape or not almost_equal(joined, expected[index], TOLERANCE).all():
                    return False
    except (SdyError, ValueError):  # the kernel, or a result of its own, does not fit the shapes of slices
        return False
    return True


def _slice_shape(shape: StaticShape, dim: int | None, count: int) -> StaticShape:
    return tuple(size // count if position == dim else size for position, size in enumerate(shape))


def _slices(array: Array, dim: int, count: int) -> Array:
    """Return the slices of an array along a dim, in a new first dim."""
    return np.stack(np.split(array, count, axis=dim))
