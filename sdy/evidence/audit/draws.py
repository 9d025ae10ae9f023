"""Random values for audits, from several ranges, so that each branch of an op is taken in some run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import Array, DType, is_bool, is_complex, is_float, is_signed
from sdy.model.shape import StaticShape

FLOAT_RANGES = ((-2.0, 2.0), (0.1, 0.9), (1.0, 3.0))
LARGEST_INTEGER = 4  # small enough to be an index that is in range in some runs, and out of range in others


def draw(random: np.random.Generator, shape: StaticShape, dtype: DType, round_: int) -> Array:
    """Return a random array; `round_` selects the range of floats.

    In every fourth round, square matrices have a large diagonal, so that they can be factorized.
    """
    if is_complex(dtype):
        parts = [_floats(random, shape, round_) for _ in range(2)]
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
    if is_float(dtype):
        found = _floats(random, shape, round_)
        if round_ % 4 == 3 and len(shape) > 1 and shape[-1] == shape[-2]:
            found = found + 4.0 * np.eye(shape[-1])
        return np.asarray(found).astype(dtype)
    if is_bool(dtype):
        return np.asarray(random.random(shape) < 0.5).astype(dtype)
    return random.integers(-1 if is_signed(dtype) else 0, LARGEST_INTEGER, shape, endpoint=True).astype(dtype)


def with_each_element_changed(random: np.random.Generator, array: Array, round_: int) -> Array:
    """Return the array itself, and a copy for each of its elements in which this element has another value.

    The result has shape (elements + 1, *shape).
    """
    flat = array.reshape(-1)
    copies = np.repeat(flat[None], flat.size + 1, axis=0)
    if is_bool(array.dtype):
        other: Array = np.logical_not(flat)
    else:
        other = draw(random, (flat.size,), array.dtype, round_)
        other = np.where(other == flat, np.add(flat, np.ones((), array.dtype)), other).astype(array.dtype)
    places = np.arange(flat.size)
    copies[places + 1, places] = other
    return copies.reshape(flat.size + 1, *array.shape)


def draw_all(random: np.random.Generator, kinds: Sequence[tuple[StaticShape, DType]], round_: int) -> list[Array]:
    """Return a random array of each shape and dtype."""
    return [draw(random, shape, dtype, round_) for shape, dtype in kinds]


def _floats(random: np.random.Generator, shape: StaticShape, round_: int) -> NDArray[np.float64]:
    low, high = FLOAT_RANGES[round_ % len(FLOAT_RANGES)]
    return np.asarray(random.uniform(low, high, shape))
