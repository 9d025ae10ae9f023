"""The functions of elements in a finite field: exact arithmetic, order by key, and fixed pseudo-random functions.

A function that no arithmetic expresses is a hash of its operands. It has only the values that padding, masks and
`jax.numpy` rely on: `VALUES`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.stablehlo import elementwise as ops
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import Residues, conjugated, equal_elements, of_parts, parts_of
from sdy.interpreter.field.numbers import Field

Bools = NDArray[np.bool_]
Function = Callable[..., Array]
"""Called with the field, and with arrays of its elements or of others, which broadcast."""

_ODD = {0.0: 0.0}
VALUES: dict[str, dict[float, float]] = {
    "exponential": {0.0: 1.0, -inf: 0.0, inf: inf},
    "exponential_minus_one": {0.0: 0.0, -inf: -1.0, inf: inf},
    "log": {1.0: 0.0, 0.0: -inf, inf: inf},
    "log_plus_one": {0.0: 0.0, -1.0: -inf, inf: inf},
    "sqrt": {0.0: 0.0, 1.0: 1.0, inf: inf},
    "rsqrt": {1.0: 1.0, 0.0: inf, inf: 0.0},
    "cbrt": {0.0: 0.0, 1.0: 1.0},
    "logistic": {0.0: 0.5, -inf: 0.0, inf: 1.0},
    "tanh": {0.0: 0.0, inf: 1.0, -inf: -1.0},
    "erf": {0.0: 0.0, inf: 1.0, -inf: -1.0},
    "erfc": {0.0: 1.0, inf: 0.0, -inf: 2.0},
    "cosine": {0.0: 1.0},
    "cosh": {0.0: 1.0},
    **dict.fromkeys(("sine", "tan", "sinh", "asin", "atan", "asinh", "atanh", "erf_inv", "bessel_i1e"), _ODD),
}
"""The values that hashed functions must have, by the name of the op without its dialect."""


def hashed(name: str, field: Field, *operands: Array) -> Array:
    """Return the values of the pseudo-random function `name`, with those in `VALUES` if it has one operand."""
    columns = [part for operand in operands for part in parts_of(operand)]
    count = max(len(parts_of(operand)) for operand in operands)
    names = [name, f"{name}, imaginary part"][:count]
    law = field.law(name) if len(columns) == 1 else None
    results = [field.hashed(each, *columns) for each in names] if law is None else [law(columns[0])]
    if len(operands) == 1:
        for operand, value in VALUES.get(name, {}).items():
            is_here = columns[0] == field.constant(operand)
            if count > 1:
                is_here = is_here & (columns[1] == 0)
            if is_here.any():
                values = (field.constant(value), 0.0)
                results = [np.where(is_here, *pair) for pair in zip(values, results, strict=False)]
    return of_parts(*results)


def by_part(function: Callable[..., Residues]) -> Function:
    """Return a function of the field and residues as one of elements, applied to each part."""

    def compute(field: Field, *operands: Array) -> Array:
        return of_parts(*(function(field, *column) for column in zip(*map(parts_of, operands), strict=True)))

    return compute


def _added(field: Field, lhs: Residues, rhs: Residues) -> Residues:
    return field.reduced(np.add(lhs, rhs))


def _subtracted(field: Field, lhs: Residues, rhs: Residues) -> Residues:
    return field.reduced(np.subtract(lhs, rhs))


def _negated(field: Field, operand: Residues) -> Residues:
    return np.subtract(0.0, operand)


add, subtract, negate = by_part(_added), by_part(_subtracted), by_part(_negated)


def multiply(field: Field, lhs: Array, rhs: Array) -> Array:
    """Return the product."""
    return _product(field, field.multiplied, lhs, rhs)


def elements_product(field: Field, left: Array, right: Array) -> Array:
    """Return the products of stacks of matrices of numbers, both real or both complex."""
    return _product(field, field.matrix_product, left, right)


def _product(field: Field, times: Callable[[Residues, Residues], Residues], left: Array, right: Array) -> Array:
    (a, *b), (c, *d) = parts_of(left), parts_of(right)
    if not b:
        return of_parts(times(a, c))
    real = field.reduced(times(a, c) - times(b[0], d[0]))
    return of_parts(real, field.reduced(times(a, d[0]) + times(b[0], c)))


def inverse(field: Field, operand: Array) -> Array:
    """Return the inverse of each element."""
    a, *b = parts_of(operand)
    if not b:
        return of_parts(field.inverse(a))
    size = field.inverse(_square_of_modulus(field, a, b[0]))
    return of_parts(field.multiplied(a, size), field.multiplied(-b[0], size))


def divide(field: Field, lhs: Array, rhs: Array) -> Array:
    """Return the quotient: 0 divided by 0, and an infinity by an infinity, is NaN."""
    return multiply(field, lhs, inverse(field, rhs))


def _square_of_modulus(field: Field, a: Residues, b: Residues) -> Residues:
    return field.reduced(field.multiplied(a, a) + field.multiplied(b, b))


def _is_less(field: Field, lhs: Array, rhs: Array, *, is_total: bool = False) -> Bools:
    """Return whether elements are less in the order of the field; complex numbers are ordered by their parts."""
    key = field.total_key if is_total else field.key
    (a, *b), (c, *d) = (tuple(map(key, parts_of(each))) for each in (lhs, rhs))
    return (a < c) | ((a == c) & (b[0] < d[0])) if b else a < c


def is_nan(operand: Array) -> Bools:
    """Return whether elements are NaN, in any part."""
    return np.logical_or.reduce([np.isnan(part) for part in parts_of(operand)])


def maximum(field: Field, lhs: Array, rhs: Array) -> Array:
    """Return the larger element; NaN if either is NaN."""
    return np.where(is_nan(lhs) | (~is_nan(rhs) & _is_less(field, rhs, lhs)), lhs, rhs)


def minimum(field: Field, lhs: Array, rhs: Array) -> Array:
    """Return the smaller element; NaN if either is NaN."""
    return np.where(is_nan(lhs) | (~is_nan(rhs) & _is_less(field, lhs, rhs)), lhs, rhs)


def compared(direction: str, field: Field, lhs: Array, rhs: Array, *, is_total: bool = False) -> Array:
    """Compare elements in one of the directions EQ, NE, GE, GT, LE, LT.

    NaN is unequal to every element; in the total order (`is_total`), it is the largest one, and equal to itself.
    """
    is_same = equal_elements(lhs, rhs)
    if not is_total:
        is_same = is_same & ~is_nan(lhs)
    match direction:
        case "EQ":
            return is_same
        case "NE":
            return ~is_same
        case "GT" | "GE":
            is_before = _is_less(field, rhs, lhs, is_total=is_total)
        case _:
            is_before = _is_less(field, lhs, rhs, is_total=is_total)
    return is_before | is_same if direction.endswith("E") else is_before


def absolute(field: Field, operand: Array) -> Array:
    """Return the absolute value: of the number as it is usually ordered; of a complex one, the root of its square."""
    a, *b = parts_of(operand)
    if b:
        return hashed("sqrt", field, of_parts(_square_of_modulus(field, a, b[0])))
    return of_parts(np.where(field.fixed_point(a) < 0, 0.0 - a, a))


def sign(field: Field, operand: Array) -> Array:
    """Return -1, 0 or 1; of a complex number, the number divided by its modulus."""
    if len(parts_of(operand)) > 1:
        modulus = parts_of(absolute(field, operand))[0]
        quotient = divide(field, operand, of_parts(modulus, np.zeros_like(modulus)))
        return np.where(modulus == 0, np.zeros((), operand.dtype), quotient)
    return of_parts(np.sign(field.fixed_point(parts_of(operand)[0])))


def rounded(to_integers: Callable[[Array], Array]) -> Function:
    """Return a function that rounds the number, as it is usually ordered, to an integer."""

    def compute(field: Field, part: Residues) -> Residues:
        return field.reduced(np.asarray(to_integers(field.fixed_point(part)), np.float64))

    return by_part(compute)


def _half_away(numbers: Array) -> Array:
    return np.trunc(np.add(numbers, np.copysign(0.5, numbers)))


def power(field: Field, lhs: Array, rhs: Array) -> Array:
    """Return the power: exact for the exponents in `_POWERS` and of the base 1."""
    result = hashed("power", field, lhs, rhs)
    for exponent, function in _POWERS.items():
        is_here = equal_elements(rhs, _constant(field, rhs, exponent))
        if is_here.any():
            result = np.where(is_here, function(field, lhs), result)
    one = _constant(field, lhs, 1.0)
    return np.where(equal_elements(lhs, one), one, result)


def _constant(field: Field, like: Array, number: float) -> Array:
    return of_parts(*(np.array(field.constant(each)) for each in (number, 0.0)[: len(parts_of(like))]))


def square(field: Field, operand: Array) -> Array:
    """Return the square."""
    return multiply(field, operand, operand)


def _unchanged(field: Field, operand: Array) -> Array:
    return operand


_POWERS: dict[float, Callable[[Field, Array], Array]] = {
    0.0: lambda field, base: _constant(field, base, 1.0),
    1.0: _unchanged,
    2.0: square,
    3.0: lambda field, base: multiply(field, base, square(field, base)),
    -1.0: inverse,
    0.5: partial(hashed, "sqrt"),
}


def _is_finite(field: Field, operand: Array) -> Array:
    return np.isfinite(parts_of(operand)[0])


def _is_among(infinities: tuple[float, ...], field: Field, operand: Array) -> Array:
    return np.logical_or.reduce([parts_of(operand)[0] == each for each in infinities])


def _conjugate(field: Field, operand: Array) -> Array:
    return conjugated(operand)


def _real(field: Field, operand: Array) -> Array:
    return of_parts(parts_of(operand)[0])


def _imaginary(field: Field, operand: Array) -> Array:
    real, *imaginary = parts_of(operand)
    return of_parts(*(imaginary or [np.zeros_like(real)]))


def _complex(field: Field, real: Array, imaginary: Array) -> Array:
    return of_parts(*parts_of(real), *parts_of(imaginary))


def clamp(field: Field, low: Array, operand: Array, high: Array) -> Array:
    """Return the operand limited to the range from `low` to `high`."""
    return minimum(field, maximum(field, operand, low), high)


EXACT: dict[type[Operation], Function] = {
    ops.AbsOp: absolute,
    ops.AddOp: add,
    ops.CeilOp: rounded(np.ceil),
    ops.ComplexOp: _complex,
    ops.DivideOp: divide,
    ops.FloorOp: rounded(np.floor),
    ops.ImagOp: _imaginary,
    ops.IsFiniteOp: _is_finite,
    ops.MaximumOp: maximum,
    ops.MinimumOp: minimum,
    ops.MultiplyOp: multiply,
    ops.NegateOp: negate,
    ops.PowerOp: power,
    ops.RealOp: _real,
    ops.ReducePrecisionOp: _unchanged,
    ops.RoundNearestAfzOp: rounded(_half_away),
    ops.RoundNearestEvenOp: rounded(np.rint),
    ops.SignOp: sign,
    ops.SubtractOp: subtract,
    chlo.ConjOp: _conjugate,
    chlo.IsInfOp: partial(_is_among, (inf, -inf)),
    chlo.IsNegInfOp: partial(_is_among, (-inf,)),
    chlo.IsPosInfOp: partial(_is_among, (inf,)),
    chlo.SquareOp: square,
}
"""The functions that arithmetic in a field expresses; others are hashed."""

# What is left out: the order of numbers, roots, and functions that stand for others.
ARITHMETIC = frozenset[type[Operation]](
    {ops.AddOp, ops.ComplexOp, ops.DivideOp, ops.ImagOp, ops.MultiplyOp, ops.NegateOp, ops.RealOp, ops.SubtractOp}
    | {chlo.ConjOp, chlo.SquareOp}
)
"""Those that obey all laws of numbers in a field too, so that equal formulas have equal values however written."""
