"""Adversarial inputs: values on which a partitioned program is most likely to differ from the original one.

The inputs include infinities, NaN and extreme integers, but not the largest floats: devices may add numbers in another
order, so a sum that overflows may differ even in a correct program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.evidence.runs.argument_uses import ArgumentUse, argument_uses
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.comparison import OutputComparison
from sdy.evidence.runs.rounding import RoundingCheck
from sdy.evidence.runs.verification import compare_results
from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, is_bool, is_complex, is_float

Random = np.random.Generator
FloatValues = Callable[[Random, int], Array]
IntegerValues = Callable[[Random, int, DType, Sequence[int]], Array]
"""Return `count` integers for an argument; the sequence has the sizes of the dims that the argument indexes, if any."""


@dataclass(frozen=True, slots=True)
class VerifiedRound:
    """The outcome of running both programs on one kind of inputs."""

    name: str
    comparisons: tuple[OutputComparison, ...]

    @property
    def agrees(self) -> bool:
        """Return whether all outputs agree."""
        return all(comparison.agrees for comparison in self.comparisons)

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain data."""
        outputs = [output.to_json() for output in self.comparisons]
        return {"inputs": self.name, "agrees": self.agrees, "outputs": outputs}


def adversarial_rounds(program: Compiled[Any], seed: int) -> Iterator[VerifiedRound]:
    """Run a program on one device and on all, on each kind of inputs. Zeros must agree in sign.

    Raises: SdyError if the program cannot be run.
    """
    for name, inputs in adversarial_inputs(program.written, seed):
        actual, expected = program.run_flat(inputs), program.run_on_one_device(inputs)
        found = compare_results(RoundingCheck(program, inputs), actual, expected)
        yield VerifiedRound(name, tuple(map(_with_signs_of_zeros, found, actual, expected)))


def adversarial_inputs(written: ModuleOp, seed: int) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Return the name and the arrays of each kind of inputs; the same arrays for the same seed."""
    uses = argument_uses(written)
    arrays = random_inputs(written, seed)
    for number, (name, (floats, integers)) in enumerate(_KINDS.items()):
        random = np.random.default_rng([seed, number])
        yield (
            name,
            tuple(_special(array, use, floats, integers, random) for array, use in zip(arrays, uses, strict=True)),
        )


def _with_signs_of_zeros(found: OutputComparison, actual: Array, expected: Array) -> OutputComparison:
    """Return the comparison of two outputs; if they agree, zeros must also agree in sign."""
    if is_complex(expected.dtype):
        parts = (_with_signs_of_zeros(found, part(actual), part(expected)) for part in (np.real, np.imag))
        return next((each for each in (found, *parts) if not each.agrees), found)
    if not found.agrees or not is_float(expected.dtype):
        return found
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    differs = (actual == 0) & (expected == 0) & (np.signbit(actual) != np.signbit(expected))
    if not differs.any():
        return found
    position = [int(index) for index in np.argwhere(differs)[0]]
    problem = f"at {position}: {actual[tuple(position)]} instead of {expected[tuple(position)]}"
    return replace(found, agrees=False, problem=problem)


def _special(array: Array, use: ArgumentUse, floats: FloatValues, integers: IntegerValues, random: Random) -> Array:
    """Replace elements of an argument with special values. Booleans and integers that end loops stay unchanged."""
    dtype, count = array.dtype, array.size
    if is_bool(dtype) or (use.ends_loops and not is_float(dtype)):
        return array
    if is_complex(dtype):
        parts = np.stack([floats(random, count), floats(random, count)], axis=-1)
        return np.asarray(parts.astype(np.float64)).view(np.complex128).reshape(array.shape).astype(dtype)
    if is_float(dtype):
        return floats(random, count).astype(compute_dtype(dtype)).astype(dtype).reshape(array.shape)
    values = integers(random, count, dtype, sorted(use.indexed_sizes))
    return values.astype(dtype).reshape(array.shape)


def _mixed(random: Random, count: int, values: Sequence[float]) -> Array:
    """Return normally distributed numbers, about one in eight of them replaced by special values, and at least one."""
    numbers = random.standard_normal(count)
    chosen = random.random(count) < 1 / 8
    if count > 1:
        chosen[int(random.integers(count))] = True
    return np.where(chosen, random.choice(np.array(values), count), numbers)


def _signed_zeros(random: Random, count: int) -> Array:
    return random.choice(np.array([0.0, -0.0, 1.0, -1.0]), count)


def _negative_zeros(random: Random, count: int) -> Array:
    return np.full(count, -0.0)


def _infinities(random: Random, count: int) -> Array:
    return _mixed(random, count, (np.inf, -np.inf))


def _nans(random: Random, count: int) -> Array:
    return _mixed(random, count, (np.nan,))


def _ties(random: Random, count: int) -> Array:
    """Return every number about three times. With fewer distinct numbers, sums would cancel to rounding errors."""
    return random.choice(random.standard_normal(max(1, count // 3)), count)


def _extreme_integers(random: Random, count: int, dtype: DType, sizes: Sequence[int]) -> Array:
    """Return the limits of the dtype, and numbers around 0; for indices, also those around the end of the range."""
    limits = _limits(dtype)
    near = [0, 1, -1, 2, *(edge for size in sizes for edge in (size - 1, size, size + 1, -size))]
    return _chosen(random, count, dtype, [*near, *limits])


def _edge_integers(random: Random, count: int, dtype: DType, sizes: Sequence[int]) -> Array:
    """Return indices around the end of a dim, where start indices are clamped, or small numbers."""
    near = [edge for size in sizes for edge in (size - 2, size - 1, size, size + 1)]
    return _chosen(random, count, dtype, near or [0, 1, 2])


def _low_integers(random: Random, count: int, dtype: DType, sizes: Sequence[int]) -> Array:
    return _chosen(random, count, dtype, [-2, -1, 0] if sizes else [-1, 0, 1])


def _tied_integers(random: Random, count: int, dtype: DType, sizes: Sequence[int]) -> Array:
    return _chosen(random, count, dtype, [0, 1])


def _chosen(random: Random, count: int, dtype: DType, numbers: Sequence[int]) -> Array:
    low, high = _limits(dtype)
    fitting = sorted({number for number in numbers if low <= number <= high})
    return np.array([fitting[int(index)] for index in random.integers(0, len(fitting), count)], compute_dtype(dtype))


def _limits(dtype: DType) -> tuple[int, int]:
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


_KINDS: dict[str, tuple[FloatValues, IntegerValues]] = {
    "signed zeros": (_signed_zeros, _tied_integers),
    "negative zeros alone": (_negative_zeros, _low_integers),
    "infinities": (_infinities, _extreme_integers),
    "NaN": (_nans, _edge_integers),
    "ties": (_ties, _low_integers),
}
