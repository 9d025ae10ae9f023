"""Runs on special values of floats that a finite field lacks: signed zeros, infinities, NaN.

The field shows that two programs compute the same function of numbers. For the other values,
both programs must return NaN, infinities and zeros of either sign at the same places. Where rounding decides what the
original program returns, any value is accepted. The largest floats are left out: devices may add numbers in another
order, so a sum that overflows may differ even in a correct program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, ModuleOp

from sdy.compile.compiled import Compiled
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.evidence.runs.argument_uses import ArgumentUse, argument_uses
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.both_programs import BothPrograms
from sdy.evidence.runs.comparison import VerifiedRound, found_difference
from sdy.evidence.runs.draws import limits_of
from sdy.interpreter.arrays.element_types import Array, compute_dtype, dtype_of, is_bool, is_complex, is_float
from sdy.interpreter.devices.shards import copies_problem, unshard

Random = np.random.Generator
Bools = NDArray[np.bool_]
FloatValues = Callable[[Random, int], Array]
Integers = Callable[[Sequence[int], tuple[int, int]], Sequence[int]]
"""Return the integers for an argument, given the sizes of the dims that it indexes, if any, and the limits of its type.
"""


# Inputs are changed by at least so much, relatively and at random, to see where rounding decides a result.
LEAST_CHANGE, CHANGED_RUNS = 2.0**-16, 8


def special_rounds(program: Compiled[Any], seed: int) -> Iterator[VerifiedRound]:
    """Run a program on one device and on all, on each kind of special inputs.

    Raises: SdyError if the program cannot be run.
    """
    runs, change = BothPrograms(program), _change(program.written)
    for name, inputs in special_inputs(program.written, seed):
        expected = runs.on_one_device(inputs)
        held = list(zip(runs.on_devices(inputs), program.boundary.results, strict=True))
        actual = [unshard(result, place.sharding, place.mesh, place.shape) for result, place in held]
        kinds = [_differs_in_kind(*pair) for pair in zip(actual, expected, strict=True)]
        if any(each.any() for each in kinds):
            varied = [runs.on_one_device(_changed(inputs, change, [seed, run])) for run in range(CHANGED_RUNS)]
            for place, (differs, result) in enumerate(zip(kinds, expected, strict=True)):
                for other in varied:
                    differs &= ~_differs_in_kind(other[place], result)
        found = [found_difference(index, *each) for index, each in enumerate(zip(actual, expected, kinds, strict=True))]
        for index, each in enumerate(held):
            if problem := copies_problem(*each, index):
                found[index] = replace(found[index], agrees=False, problem=problem)
        yield VerifiedRound(name, tuple(found))


def _differs_in_kind(actual: Array, expected: Array) -> Bools:
    """Return where two results differ in NaN, infinities, zeros and their signs; in any way if they are integers."""
    if is_complex(expected.dtype):
        # Which part of an infinite product is NaN depends on the kernel that multiplies.
        both_special = ~np.isfinite(actual) & ~np.isfinite(expected)
        differs = [_differs_in_kind(part(actual), part(expected)) for part in (np.real, np.imag)]
        return np.logical_or.reduce(differs) & ~both_special
    if not is_float(expected.dtype):
        return np.asarray(actual != expected)
    one, other = actual.astype(np.float64), expected.astype(np.float64)
    is_special = ~np.isfinite(one) | ~np.isfinite(other)
    both_zero = (one == 0) & (other == 0)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.asarray((is_special & ~same) | (both_zero & (np.signbit(one) != np.signbit(other))))


def _change(written: ModuleOp) -> float:
    """Return by how much the narrowest float of a program rounds a number, relatively; at least `LEAST_CHANGE`."""
    values = (value for op in pre_order(written) for value in (*op.results, *op.operands))
    tensors = map(as_tensor, {value.type for value in values})
    types = (dtype_of(each.element_type) for each in tensors if each and isinstance(each.element_type, AnyFloat))
    infos: list[Any] = [ml_dtypes.finfo(each) for each in types]
    return max([LEAST_CHANGE, *(float(each.eps) / 2 for each in infos)])


def _changed(inputs: Sequence[Array], change: float, seed: Sequence[int]) -> list[Array]:
    """Return the inputs with their floats changed by the factor `change` times a normal number, each by its own."""
    random = np.random.default_rng(seed)
    return [
        np.multiply(array, 1 + change * random.standard_normal(array.shape)).astype(array.dtype)
        if is_float(array.dtype) or is_complex(array.dtype)
        else array
        for array in inputs
    ]


def special_inputs(written: ModuleOp, seed: int) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Return the name and the arrays of each kind of inputs; the same arrays for the same seed."""
    uses = argument_uses(written)
    arrays = random_inputs(written, seed)
    for number, (name, (floats, integers)) in enumerate(_KINDS.items()):
        random = np.random.default_rng([seed, number])
        yield (
            name,
            tuple(_special(array, use, floats, integers, random) for array, use in zip(arrays, uses, strict=True)),
        )


def _special(array: Array, use: ArgumentUse, floats: FloatValues, integers: Integers, random: Random) -> Array:
    """Replace elements of an argument with special values.

    Booleans stay unchanged, and so do integers that end loops, or of which only some are allowed.
    """
    dtype, count = array.dtype, array.size
    if is_bool(dtype) or ((use.ends_loops or use.most is not None) and not is_float(dtype)):
        return array
    if is_complex(dtype):
        parts = np.stack([floats(random, count), floats(random, count)], axis=-1)
        return np.asarray(parts.astype(np.float64)).view(np.complex128).reshape(array.shape).astype(dtype)
    if is_float(dtype):
        return floats(random, count).astype(compute_dtype(dtype)).astype(dtype).reshape(array.shape)
    low, high = limits = limits_of(dtype)
    fitting = sorted({each for each in integers(sorted(use.indexed_sizes), limits) if low <= each <= high} or limits)
    chosen = [fitting[int(index)] for index in random.integers(0, len(fitting), count)]
    return np.array(chosen, compute_dtype(dtype)).astype(dtype).reshape(array.shape)


def _mixed(random: Random, count: int, values: Sequence[float]) -> Array:
    """Return normally distributed numbers, about one in eight of them replaced by special values, and at least one."""
    numbers = random.standard_normal(count)
    chosen = random.random(count) < 1 / 8
    if count > 1:
        chosen[int(random.integers(count))] = True
    return np.where(chosen, random.choice(np.array(values), count), numbers)


def _ties(random: Random, count: int) -> Array:
    """Return every number about three times. With fewer distinct numbers, sums would cancel to rounding errors."""
    return random.choice(random.standard_normal(max(1, count // 3)), count)


def _extreme_integers(sizes: Sequence[int], limits: tuple[int, int]) -> Sequence[int]:
    """Return the limits of the type, and numbers around 0; for indices, also those around the end of the range."""
    return [0, 1, -1, 2, *(edge for size in sizes for edge in (size - 1, size, size + 1, -size)), *limits]


def _edge_integers(sizes: Sequence[int], limits: tuple[int, int]) -> Sequence[int]:
    """Return indices around the end of a dim, where start indices are clamped, or small numbers."""
    return [edge for size in sizes for edge in range(size - 2, size + 2)] or [0, 1, 2]


def _low_integers(sizes: Sequence[int], limits: tuple[int, int]) -> Sequence[int]:
    return [-2, -1, 0] if sizes else [-1, 0, 1]


_KINDS: dict[str, tuple[FloatValues, Integers]] = {
    "signed zeros": (lambda random, count: random.choice([0.0, -0.0, 1.0, -1.0], count), lambda sizes, limits: [0, 1]),
    "negative zeros alone": (lambda random, count: np.full(count, -0.0), _low_integers),
    "infinities": (partial(_mixed, values=(np.inf, -np.inf)), _extreme_integers),
    "NaN": (partial(_mixed, values=(np.nan,)), _edge_integers),
    "ties": (_ties, _low_integers),
}
