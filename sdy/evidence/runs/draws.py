"""Draws for runs in a finite field: the field, and the arguments.

Floats are drawn at random. Booleans and integers that choose a path or a place are enumerated instead, since a few
draws could miss a branch, the last element, or an index that is out of range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, floor, inf, prod

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.facts.traits import has_region_on_elements
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.elementwise import ClampOp, MaximumOp, MinimumOp
from sdy.evidence.runs.argument_uses import ArgumentUse, argument_uses
from sdy.evidence.runs.arrays import ArrayType, input_types
from sdy.evidence.runs.run_estimate import estimate_of_run
from sdy.interpreter.arrays.element_types import Array, compute_dtype, is_bool, is_complex, is_float
from sdy.interpreter.arrays.field_types import Residues, of_parts
from sdy.interpreter.field.laws import ring_of_draw
from sdy.interpreter.field.numbers import Field, field_of_draw

UNIFORM, SMALL_NUMBERS, SHUFFLED = KINDS = ("uniform", "small", "shuffled")
"""What floats are: any numbers of the field; from -4 to 4 in steps of 1 / 16; any numbers, in another order."""

EXPONENTIALS, LOGARITHMS = LAWS = ("laws of exponentials", "laws of logarithms")
"""Any numbers of a ring in which exp(a) * exp(b) = exp(a + b), and exp(log(a)) = a or log(a) + log(b) = log(a * b)."""

LEAST_DRAWS, LEAST_LAWFUL, MOST_DRAWS = 3, 8, 24
ENDS = 4  # values of an index at or next to the ends of a dim: -2, -1, the last one, and the one after it
# Of a maximum, a draw shows one operand of one device only: results are drawn for all devices, as many as time allows.
LEAST_SELECTED, MOST_SELECTED, SELECTED_BY_DEVICE, SECONDS_FOR_SELECTIONS = 24, 48, 4, 0.24
FAR = 3
ALL_PLACES = 12  # sizes up to which an index takes each value
TRIPS = (0, 1, 2, 5)  # values of an argument by which a loop ends
SMALL = 64  # small numbers are at most so many sixteenths


@dataclass(frozen=True, slots=True)
class Draw:
    """The field and the arguments of one run, and the name of its kind."""

    name: str
    field: Field
    inputs: tuple[Array, ...]


class Draws:
    """The draws for a program. Arrays of integers and booleans that are `given` stay as they are.

    Draw after draw has the next of the `kinds`. `other` is a program that uses the arguments too.
    """

    def __init__(
        self,
        written: ModuleOp,
        seed: int,
        given: Sequence[Array] | None = None,
        *,
        kinds: Sequence[str] = KINDS,
        other: ModuleOp | None = None,
    ) -> None:
        self._written, self._seed = written, seed
        self._kinds = kinds
        self._types = input_types(written)
        uses = argument_uses(written)
        others = uses if other is None else argument_uses(other)
        self._uses = [mine.merged(theirs) for mine, theirs in zip(uses, others, strict=True)]
        self._given = given
        self._choices = {
            index: values
            for index, (kind, use) in enumerate(zip(self._types, self._uses, strict=True))
            if given is None and (values := _choices(kind, use))
        }

    @cached_property
    def count(self) -> int:
        """The number of draws in which all enumerated values occur, or the most that are made."""
        return max(min(MOST_DRAWS, len(self._enumerated)), self.least, self._chosen_by_few)

    @cached_property
    def _chosen_by_few(self) -> int:
        """The number of draws in which few indices take each value at an end, and few maxima each operand."""
        indices = [prod(shape) for (shape, _), use in zip(self._types, self._uses, strict=True) if use.indexed_sizes]
        rounds = max((ceil(ENDS / _edge_count(size)) for size in indices if size > 1), default=1)
        draws = max(len(KINDS) * rounds, _draws_of_selections(self._written))
        if draws <= LEAST_DRAWS:
            return draws
        seconds = estimate_of_run(self._written, is_freed=False).seconds
        return max(LEAST_DRAWS, min(draws, floor(SECONDS_FOR_SELECTIONS / seconds)))

    @property
    def least(self) -> int:
        """The number of draws that are made at least: more where numbers may have no value."""
        return LEAST_LAWFUL if self._kinds[0] in LAWS else LEAST_DRAWS

    @cached_property
    def missing(self) -> int:
        """How many values of single arguments are left out."""
        used = self._enumerated[: self.count]
        taken = [{row[position] for row in used} for position in range(len(self._choices))]
        return sum(len(values) - len(seen) for values, seen in zip(self._choices.values(), taken, strict=True))

    @cached_property
    def _enumerated(self) -> list[tuple[int, ...]]:
        """The values of the enumerated arguments, draw by draw: all combinations if they are few, else each value."""
        values = list(self._choices.values())
        if np.prod([len(each) for each in values], dtype=np.float64) <= MOST_DRAWS:
            return list(product(*values))
        longest = max(map(len, values))
        # Lists of different strides, so that pairs of values differ from one cycle to the next.
        return [
            tuple(each[(number + number // len(each) * place) % len(each)] for place, each in enumerate(values))
            for number in range(max(longest, MOST_DRAWS))
        ]

    def __iter__(self) -> Iterator[Draw]:
        return (self.draw(number) for number in range(self.count))

    def draw(self, number: int) -> Draw:
        """Return the draw of this number, the same for the same seed."""
        generator = np.random.default_rng([self._seed, number])
        kind = self._kinds[number % len(self._kinds)]
        if kind in LAWS:
            field: Field = ring_of_draw(generator, has_all_logs=kind == LOGARITHMS)
        else:
            field = field_of_draw(generator, is_shuffled=kind == SHUFFLED)
        chosen = dict(zip(self._choices, self._enumerated[number % len(self._enumerated)], strict=True))
        inputs = [
            self._drawn(generator, index, field, kind, number)
            if index not in chosen
            else np.full(shape, chosen[index]).astype(dtype)
            for index, (shape, dtype) in enumerate(self._types)
        ]
        return Draw(f"{kind}, seed {self._seed}.{number}", field, tuple(inputs))

    def _drawn(self, generator: np.random.Generator, index: int, field: Field, kind: str, number: int) -> Array:
        shape, dtype = self._types[index]
        is_small, has_edges = kind == SMALL_NUMBERS, kind == SHUFFLED
        if is_float(dtype) or is_complex(dtype):
            # Two draws of one number could miss that it bounds others, as the start of a minimum: it is high and low.
            sign = (-1) ** (index + number) if number < LEAST_DRAWS - 1 and prod(shape) == 1 else 0
            parts = range(1 + is_complex(dtype))
            return of_parts(*(random_numbers(generator, shape, field, is_small=is_small, sign=sign) for _ in parts))
        if self._given is not None:
            return self._given[index]
        if is_bool(dtype):
            return generator.integers(0, 2, shape).astype(dtype)
        edges = number // len(KINDS) if kind == SHUFFLED else None
        found = _integers(generator, self._types[index], self._uses[index], is_small=is_small, edges=edges)
        if found.size > 1 or is_small or self._uses[index] != ArgumentUse():
            return found
        # A few draws of one number could miss a side of a bound: it is large, small, and negative in turn.
        low, high = limits_of(dtype)
        is_negative = has_edges != (index % 2 > 0) and low < 0
        bounds = (low, 0) if is_negative else (high // 2, high)
        return generator.integers(*bounds, shape, np.int64 if low < 0 else np.uint64).astype(dtype)


def _draws_of_selections(written: ModuleOp) -> int:
    """Return the number of draws for the maxima, minima and clamps of a program: more for those with few results."""
    ops = [op for op in pre_order(written) if type(op) in (MaximumOp, MinimumOp, ClampOp)]
    selections = [above if has_region_on_elements(above := op.parent_op()) else op for op in ops]
    shapes = (static_shape(op.results[0].type) for op in selections if op is not None and op.results)
    fewest = min((prod(shape) for shape in shapes if shape is not None), default=inf)
    devices = max((mesh.device_count for mesh in meshes_of(written).values()), default=1)
    return ceil(min(max(LEAST_SELECTED, SELECTED_BY_DEVICE * devices), MOST_SELECTED) / max(fewest, 1))


def _edge_count(size: int) -> int:
    """Return how many of the indices of an array are at or beyond an end: at most half of them if they are few."""
    return max(size // 8, min(ENDS, size // 2))


def random_numbers(
    generator: np.random.Generator, shape: Sequence[int], field: Field, *, is_small: bool, sign: int = 0
) -> Residues:
    """Return numbers of a field: any, or small ones in steps of 1 / 16; with a `sign`, those far from 0."""
    most = SMALL if is_small else field.prime // 2
    if sign:
        far = sign * generator.integers(3 * most // 4, most + 1, tuple(shape)).astype(np.float64)
        return field.of_floats(far / 16) if is_small else field.of_key(far)
    numbers = generator.integers(-most, most + 1, tuple(shape)).astype(np.float64)
    return field.of_floats(numbers / 16) if is_small else numbers


def _choices(kind: ArrayType, use: ArgumentUse) -> tuple[int, ...]:
    """Return the values that an argument of one element takes in turn; none if it is drawn."""
    shape, dtype = kind
    if np.prod(shape, dtype=np.int64) != 1 or is_float(dtype) or is_complex(dtype):
        return ()
    if is_bool(dtype):
        return (0, 1)
    if use.most is not None:
        return ()
    if use.ends_loops:
        return TRIPS
    found: dict[int, None] = {}
    for size in sorted(use.indexed_sizes):
        inner = range(size) if size <= ALL_PLACES else (0, size - 1, size // 2, 1, size - 2)
        # An index of few places is also taken far beyond them: many functions are equal at -1, 0 and 1.
        found.update(dict.fromkeys((*inner, max(size, FAR), size, -1)))
    low, high = limits_of(dtype)
    return tuple(number for number in found if low <= number <= high)


def _integers(
    generator: np.random.Generator, kind: ArrayType, use: ArgumentUse, *, is_small: bool, edges: int | None
) -> Array:
    """Draw integers: indices inside of the dims that they index, others from 0 to 7 or from their whole type.

    In the draws that are numbered by `edges`, some indices are at or beyond the ends, by turns.
    """
    shape, dtype = kind
    low, high = limits_of(dtype)
    # Labels are compared with positions of a dim, which may have no more than two elements in reduced sizes.
    small = generator.integers(0, min(2 if is_small else 4, high + 1), shape)
    if use.most is not None:
        return generator.integers(0, use.most + 1, shape).astype(dtype)
    if use.ends_loops:
        return small.astype(dtype)
    if use.indexed_sizes:
        # An index out of range may make a mean NaN, which hides other differences: only shuffled draws have some.
        indexed = np.array(sorted(use.indexed_sizes))
        sizes = indexed[0] if edges is None else generator.choice(indexed, shape)
        found = np.floor(generator.random(shape) * sizes).astype(np.int64)
        if edges is not None:
            order, count = generator.permutation(found.size).reshape(shape), _edge_count(found.size)
            ends = (order + count * edges) % ENDS - 2
            found = np.where(order < count, np.where(ends < 0, ends, sizes - 1 + ends), found)
        return np.clip(found, low, high).astype(dtype)
    if is_small:
        return small.astype(dtype)
    any_number = generator.integers(low, high, shape, dtype=compute_dtype(dtype).type, endpoint=True)
    return np.where(generator.random(shape) < 1 / 2, any_number, small.astype(any_number.dtype)).astype(dtype)


def limits_of(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)
