"""The numbers of a finite field, in which the sums and products of a program are exact in any order.

A number is a signed residue modulo a prime below 2 ** 26, held in a float64; the infinities and NaN of float64 are as
in floats. The numbers have no order of their own: `key` gives them one, in which small numbers with up to eight binary
digits after the point are ordered as usual.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import Array, bit_width, is_integer
from sdy.interpreter.arrays.field_types import Residues

Bits = NDArray[np.uint64]

FIXED_POINT = 256  # the order is that of numbers with eight binary digits after the point
LEAST_PRIME, MOST_PRIME = 2**26 - 2**22, 2**26  # so large that numbers up to 100,000 keep their order
HALF_DIGITS = 2.0**13  # by which a factor of a matrix product is split in two
MOST_TERMS = 2**14  # of a matrix product whose sums are exact before they are reduced


@dataclass(frozen=True)
class Field:
    """A finite field with an order and fixed pseudo-random functions: what one run draws.

    `prime` is 3 modulo 4, so that -1 has no root and each complex number but 0 has an inverse. The order is that of
    `slope * x + offset`. `salt` chooses the functions.
    """

    prime: int
    salt: int
    slope: int = FIXED_POINT
    offset: int = 0
    is_partial: ClassVar[bool] = False
    """True if functions may return NaN for finite numbers at which they are not defined."""

    def reduced(self, numbers: Residues) -> Residues:
        """Return the signed residues of integers below 2 ** 53; other numbers stay as they are."""
        result = np.asarray(numbers - np.rint(numbers * (1 / self.prime)) * self.prime)
        half = (self.prime - 1) / 2
        is_residue = np.abs(result) <= half
        if not is_residue.all():  # a quotient that was rounded to the next integer, or an infinity, or NaN
            np.subtract(result, self.prime, out=result, where=result > half)
            np.add(result, self.prime, out=result, where=result < -half)
            np.copyto(result, numbers, where=np.isnan(result))
        return np.add(result, 0.0, out=result)  # a negative zero would be another number for `hashed`

    def multiplied(self, lhs: Residues, rhs: Residues) -> Residues:
        """Return the products."""
        return self.reduced(np.multiply(lhs, rhs))

    def inverse(self, numbers: Residues) -> Residues:
        """Return the inverses; that of 0 is an infinity, that of an infinity 0."""
        is_unit = np.isfinite(numbers) & (numbers != 0)
        inverses = self._inverses(np.where(is_unit, numbers, 1.0).reshape(-1)).reshape(numbers.shape)
        return np.where(is_unit, inverses, np.divide(1.0, np.add(numbers, 0.0)))

    def _inverses(self, units: Residues) -> Residues:
        """Return the inverses of numbers that have one, from the inverse of the product of all: Montgomery's trick."""
        levels: list[Residues] = []
        while units.size > 1:
            padded = np.append(units, 1.0) if units.size % 2 else units
            levels.append(units)
            units = self.multiplied(padded[0::2], padded[1::2])
        found = np.array([self._signed(pow(int(unit), -1, self.prime)) for unit in units])
        for level in reversed(levels):
            padded = np.append(level, 1.0) if level.size % 2 else level
            both = np.empty(padded.size)
            both[0::2], both[1::2] = self.multiplied(found, padded[1::2]), self.multiplied(found, padded[0::2])
            found = both[: level.size]
        return found

    def _signed(self, number: int) -> float:
        residue = number % self.prime
        return float(residue - self.prime if residue > self.prime // 2 else residue)

    def constant(self, number: float) -> float:
        """Return the number that stands for a float."""
        if not isfinite(number):
            return number
        numerator, denominator = number.as_integer_ratio()
        return self._signed(numerator * pow(denominator, -1, self.prime))

    def of_floats(self, numbers: Residues) -> Residues:
        """Return the numbers for floats, each of which is an integer times a power of 2."""
        is_small = numbers == np.rint(numbers)
        is_small &= np.abs(numbers) < 2.0**53
        if is_small.all():
            return self.reduced(numbers)
        mantissas, exponents = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
        integers = mantissas * 2.0**53
        high = np.rint(integers / 2.0**27)
        residues = self.reduced(self.reduced(high) * self._signed(2**27) + (integers - high * 2.0**27))
        found, places = np.unique(exponents, return_inverse=True)
        powers = np.array([self._signed(pow(2, int(exponent) - 53, self.prime)) for exponent in found])
        scaled = self.multiplied(residues, powers[places.reshape(exponents.shape)])
        return np.where(np.isfinite(numbers), scaled, numbers)

    def of_array(self, array: Array) -> Residues:
        """Return the numbers for real floats, integers or booleans of any dtype."""
        if is_integer(array.dtype) and bit_width(array.dtype) > 32:
            return self.reduced(np.mod(array, array.dtype.type(self.prime)).astype(np.float64))
        return self.of_floats(array.astype(np.float64))

    def key(self, numbers: Residues) -> Residues:
        """Return numbers that are ordered as usual, whose order is that of the field."""
        return self.reduced(numbers * self.slope + self.offset)

    def of_key(self, keys: Residues) -> Residues:
        """Return the numbers with these keys."""
        # The inverse is positive, so that infinities keep their sign.
        return self.reduced(self.reduced(keys - self.offset) * pow(self.slope, -1, self.prime))

    def fixed_point(self, numbers: Residues) -> Residues:
        """Return the numbers of the usual order that the numbers of the field are read as, in steps of 1 / 256."""
        return self.reduced(numbers * FIXED_POINT) / FIXED_POINT

    def total_key(self, numbers: Residues) -> Residues:
        """Return the keys of the total order, in which NaN is the largest number and equal to itself."""
        keys = self.key(numbers)
        limited = np.where(np.isfinite(keys), keys, np.sign(keys) * self.prime)
        return np.where(np.isnan(keys), 2.0 * self.prime, limited)

    def summed(self, numbers: Residues, axes: tuple[int, ...], *, keepdims: bool = False) -> Residues:
        """Return the sums along `axes`."""
        return self.reduced(np.asarray(np.add.reduce(numbers, axis=axes, keepdims=keepdims)))

    def matrix_product(self, left: Residues, right: Residues) -> Residues:
        """Return the products of stacks of matrices."""
        count = left.shape[-1]
        if not np.isfinite(left).all() or not np.isfinite(right).all():
            return self._product_with_infinities(left, right)
        total = self._product(left[..., :MOST_TERMS], right[..., :MOST_TERMS, :])
        for start in range(MOST_TERMS, count, MOST_TERMS):
            end = start + MOST_TERMS
            total = self.reduced(total + self._product(left[..., start:end], right[..., start:end, :]))
        return total

    def _product(self, left: Residues, right: Residues) -> Residues:
        return self.bilinear(np.matmul, left, right)

    def bilinear(self, product: Callable[..., Residues], left: Residues, right: Residues) -> Residues:
        """Return sums of at most `MOST_TERMS` products, which `product` computes in floats."""
        # A factor in two halves of 13 bits: each sum of products is an integer below 2 ** 53.
        high = np.rint(left / HALF_DIGITS)
        low = left - high * HALF_DIGITS
        return self.reduced(self.reduced(product(high, right)) * HALF_DIGITS + self.reduced(product(low, right)))

    def _product_with_infinities(self, left: Residues, right: Residues) -> Residues:
        finite = [np.where(np.isfinite(each), each, 0.0) for each in (left, right)]
        signs = [np.where(np.isfinite(each), np.sign(each), each) for each in (left, right)]
        special = np.matmul(*signs)
        return np.where(np.isfinite(special), self.matrix_product(*finite), special)

    def hashed(self, name: str, *operands: Residues) -> Residues:
        """Return the values of a fixed pseudo-random function of this name; NaN where an operand is."""
        bits = self.seed(name)
        is_nan: Array = np.zeros((), np.bool_)
        for operand in operands:
            bits = mixed(bits ^ np.add(operand, 0.0).view(np.uint64))
            is_nan = is_nan | (operand != operand)
        return np.where(is_nan, np.nan, self.of_bits(bits))

    def law(self, name: str) -> Callable[[Residues], Residues] | None:
        """Return the function of this name if it has laws, else None; see `LawfulRing`."""
        return None

    def seed(self, name: str) -> Bits:
        """Return the bits from which the function of a name starts."""
        digest = hashlib.blake2b(f"{self.salt}/{name}".encode(), digest_size=8).digest()
        return np.frombuffer(digest, np.uint64)[0].reshape(())

    def of_bits(self, bits: Bits) -> Residues:
        """Return pseudo-random numbers, those of pseudo-random bits."""
        return self.reduced(np.mod(bits, np.uint64(self.prime)).astype(np.float64))


def mixed(bits: Bits) -> Bits:
    """Return bits that depend on all bits: the last steps of the generator splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def field_of_draw(generator: np.random.Generator, *, is_shuffled: bool = False) -> Field:
    """Draw a prime, the functions, and, with `is_shuffled`, the order."""
    candidates = (int(number) for number in iter(lambda: generator.integers(LEAST_PRIME, MOST_PRIME), None))
    prime = next(number for number in candidates if number % 4 == 3 and is_prime(number))
    salt = int(generator.integers(2**62))
    if not is_shuffled:
        return Field(prime, salt)
    return Field(prime, salt, int(generator.integers(1, 2**25)), int(generator.integers(2**25)))


def is_prime(number: int) -> bool:
    """Return whether a number above 2 is prime."""
    return number % 2 == 1 and all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2))
