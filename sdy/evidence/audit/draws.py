"""Random values for audits, of several kinds, so that each branch of an op is taken in some run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdy.evidence.runs.draws import SMALL, random_numbers
from sdy.interpreter.arrays.element_types import Array, DType, is_bool, is_complex, is_float, is_signed
from sdy.interpreter.arrays.field_types import is_field, of_parts
from sdy.interpreter.field.numbers import Field
from sdy.model.shape import StaticShape

LARGEST_INTEGER = 4  # small enough to be an index that is in range in some runs, and out of range in others


def draw(random: np.random.Generator, shape: StaticShape, dtype: DType, field: Field | None, round_: int) -> Array:
    """Return a random array; numbers of the field, if there is one, in place of floats.

    In every other round, numbers of the field are small ones, and floats are positive.
    """
    if is_float(dtype) or is_complex(dtype):
        count = 1 + is_complex(dtype)
        if field is not None:
            numbers = (random_numbers(random, shape, field, is_small=round_ % 2 > 0) for _ in range(count))
            return of_parts(*numbers)
        parts = [random.uniform(0 if round_ % 2 else -SMALL, SMALL, shape) / 16 for _ in range(count)]
        return np.asarray(parts[0] if count == 1 else parts[0] + 1j * parts[1]).astype(dtype)
    if is_bool(dtype):
        return np.asarray(random.random(shape) < 0.5).astype(dtype)
    return random.integers(-1 if is_signed(dtype) else 0, LARGEST_INTEGER, shape, endpoint=True).astype(dtype)


def with_each_element_changed(random: np.random.Generator, array: Array, dtype: DType, field: Field | None) -> Array:
    """Return the array itself, and a copy for each of its elements in which this element has another value.

    The result has shape (elements + 1, *shape).
    """
    flat = array.reshape(-1)
    copies = np.repeat(flat[None], flat.size + 1, axis=0)
    if is_bool(dtype):
        other: Array = np.logical_not(flat)
    else:
        other = draw(random, (flat.size,), dtype, field, 0)  # floats and numbers of the field are other ones
        if not is_field(flat.dtype):
            other = np.where(other == flat, np.add(flat, np.ones((), flat.dtype)), other).astype(flat.dtype)
    places = np.arange(flat.size)
    copies[places + 1, places] = other
    return copies.reshape(flat.size + 1, *array.shape)


def draw_all(
    random: np.random.Generator, kinds: Sequence[tuple[StaticShape, DType]], field: Field | None, round_: int
) -> list[Array]:
    """Return a random array of each shape and dtype."""
    return [draw(random, shape, dtype, field, round_) for shape, dtype in kinds]
