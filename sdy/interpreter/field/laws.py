"""Numbers in which functions keep the laws that programs rely on: exp(a) * exp(b) = exp(a + b), and what follows.

A finite field has no such exponential from itself to itself. A ring of two parts has one: a number is a residue modulo
p * q, where p and q are primes and p = 2 * q + 1, so that modulo p some w has the order q. The exponential of a number
is w to its residue modulo q, taken modulo p, and 1 modulo q: sums modulo q become products modulo p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.field_types import Residues
from sdy.interpreter.field.numbers import Field, is_prime

LEAST_ORDER, MOST_ORDER = 2**12, 5792  # of w: p * q lies between 2 ** 25 and 2 ** 26
Law = Callable[["LawfulRing", Residues], Residues]


@dataclass(frozen=True)
class LawfulRing(Field):
    """A ring of residues modulo p * q, with an exponential and a logarithm; `prime` is the product.

    Multiples of p or q have no inverse: it is NaN. Half of the numbers modulo p are exponentials. So either
    exp(log(y)) = y, and log is NaN for the others, or, with `has_all_logs`, log(x * y) = log(x) + log(y) for all.
    """

    is_partial: ClassVar[bool] = True
    order: int = 0  # q
    has_all_logs: bool = False

    def inverse(self, numbers: Residues) -> Residues:
        """Return the inverses; that of 0 is an infinity, that of an infinity 0, and that of other multiples NaN."""
        is_divisor = (numbers != 0) & ((self._modulo_p(numbers) == 0) | (self._modulo_q(numbers) == 0))
        inverses = super().inverse(np.where(is_divisor, 1.0, numbers))
        return np.where(is_divisor, np.nan, inverses)

    def law(self, name: str) -> Callable[[Residues], Residues] | None:
        """Return the function of this name by its law."""
        found = LAWS.get(name)
        return None if found is None else lambda numbers: found(self, numbers)

    def exponential(self, numbers: Residues) -> Residues:
        """Return w to each residue modulo q."""
        powers, _ = _tables(self.prime, self.order)
        return self._looked_up(powers, self._modulo_q(numbers))

    def logarithm(self, numbers: Residues) -> Residues:
        """Return the numbers whose exponentials these are modulo p; they are 0 modulo p."""
        _, logarithms = _tables(self.prime, self.order)
        return self._looked_up(logarithms[int(self.has_all_logs)], self._modulo_p(numbers))

    def added(self, numbers: Residues, constant: float) -> Residues:
        """Return the sums with a constant."""
        return self.reduced(numbers + constant)

    def _looked_up(self, table: Residues, places: Residues) -> Residues:
        return np.where(places >= 0, table[np.maximum(places, 0).astype(np.int64)], np.nan)

    def _modulo_p(self, numbers: Residues) -> Residues:
        return self._modulo(self.prime // self.order, numbers)

    def _modulo_q(self, numbers: Residues) -> Residues:
        return self._modulo(self.order, numbers)

    def _modulo(self, modulus: int, numbers: Residues) -> Residues:
        """Return the residues from 0 on; -1 for infinities and NaN."""
        is_finite = np.isfinite(numbers)
        return np.where(is_finite, np.mod(np.where(is_finite, numbers, 0.0), modulus), -1.0)


@cache
def _tables(modulus: int, order: int) -> tuple[Residues, NDArray[np.float64]]:
    """Return the exponentials of 0, ..., q - 1, and two rows of logarithms of 0, ..., p - 1.

    The first row is NaN where no exponential is; the second has half of the logarithm of the square.
    """
    prime = modulus // order
    # What is a modulo p and b modulo q is a * of_p + b * of_q.
    of_p, of_q = order * pow(order, -1, prime), prime * pow(prime, -1, order)
    powers, logarithms = np.zeros(order), np.full((2, prime), np.nan)
    power = 1
    for number in range(order):
        powers[number] = _signed(power * of_p + of_q, modulus)
        logarithms[:, power] = _signed(number * of_q, modulus)
        logarithms[1, prime - power] = logarithms[1, power]  # the square of both is an exponential
        power = power * 4 % prime  # 4 is a square, so that its order is q
    return powers, logarithms


def _signed(number: int, modulus: int) -> int:
    residue = number % modulus
    return residue - modulus if residue > modulus // 2 else residue


def _logistic(ring: LawfulRing, numbers: Residues) -> Residues:
    return ring.inverse(ring.added(ring.exponential(-numbers), 1.0))


def _tanh(ring: LawfulRing, numbers: Residues) -> Residues:
    return ring.added(ring.multiplied(_logistic(ring, ring.reduced(2.0 * numbers)), np.array(2.0)), -1.0)


LAWS: dict[str, Law] = {
    "exponential": LawfulRing.exponential,
    "exponential_minus_one": lambda ring, numbers: ring.added(ring.exponential(numbers), -1.0),
    "log": LawfulRing.logarithm,
    "log_plus_one": lambda ring, numbers: ring.logarithm(ring.added(numbers, 1.0)),
    "logistic": _logistic,
    "tanh": _tanh,
    "rsqrt": lambda ring, numbers: ring.inverse(ring.hashed("sqrt", numbers)),
}
"""The functions that have a law, by the name of the op without its dialect."""


def ring_of_draw(generator: np.random.Generator, *, has_all_logs: bool) -> LawfulRing:
    """Draw the primes and the other functions."""
    candidates = (int(number) for number in iter(lambda: generator.integers(LEAST_ORDER, MOST_ORDER), None))
    # With q = 3 modulo 4, -1 has no root modulo p and q, as in a field.
    order = next(each for each in candidates if each % 4 == 3 and is_prime(each) and is_prime(2 * each + 1))
    salt = int(generator.integers(2**62))
    return LawfulRing(order * (2 * order + 1), salt, order=order, has_all_logs=has_all_logs)
