"""Arithmetic on codes of elements: polynomials over the values of the program, at random points.

A code is the value of a polynomial at one random point, modulo two primes. Two expressions that are equal as
polynomials, so in integers of any width and, apart from rounding, in floats, have equal codes; two that are not, of
degree d, have equal codes at no more than d**2 of 2**62 points (lemma of Schwartz and Zippel). An op that is neither a
sum nor a product gives a new variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from sdy.evidence.proof.contributions import is_float
from sdy.evidence.proof.relations import ARBITRARY, Codes, NotProvedError

PRIME, OTHER_PRIME = 2**31 - 1, 2**31 - 19
PRIMES = np.array([PRIME, OTHER_PRIME])
LAST_LANE = 2**31 - 1  # the bits of a code that have the remainder by the second prime
SMALL = 2**20  # integers below are recognized; a random code is taken for one with a probability of 2**-40
MOST_PRODUCTS = 2**23  # of one op


def lanes(codes: Codes) -> Codes:
    """Return the remainders by both primes, along a last dim."""
    return np.stack([codes >> 31, codes & LAST_LANE], -1)


def packed(values: Codes) -> Codes:
    """Return the codes of remainders."""
    values = values % PRIMES
    return (values[..., 0] << 31) | values[..., 1]


def known(codes: Codes, *others: Codes) -> Codes:
    """Return the codes, arbitrary where one of others is."""
    for each in others:
        codes = np.where(each == ARBITRARY, ARBITRARY, codes)
    return codes


def of_integer(value: int) -> int:
    """Return the code of an integer."""
    return value % PRIME << 31 | value % OTHER_PRIME


def random_code(random: Random) -> int:
    """Return the code of a new variable."""
    return random.randrange(PRIME) << 31 | random.randrange(OTHER_PRIME)


def as_integers(codes: Codes) -> tuple[Codes, Codes]:
    """Return the small integers that codes stand for, and where they do."""
    values = lanes(codes)
    values = np.where(values < PRIMES // 2, values, values - PRIMES)
    return values[..., 0], (values[..., 0] == values[..., 1]) & (abs(values[..., 0]) < SMALL) & (codes != ARBITRARY)


def as_integer(code: int) -> int | None:
    """Return the small integer that a code stands for; None for other codes."""
    one, other = code >> 31, code & LAST_LANE
    one -= PRIME if one >= PRIME // 2 else 0
    other -= OTHER_PRIME if other >= OTHER_PRIME // 2 else 0
    return one if one == other and abs(one) < SMALL and code != ARBITRARY else None


ONE = 2**31 + 1  # the code of 1; that of 0 is 0


def check_work(count: int) -> None:
    """Raise NotProvedError if an op combines too many elements to follow them one by one."""
    if count > MOST_PRODUCTS:
        raise NotProvedError("an op on so many elements is followed by its windows only")


def added(one: Codes, other: Codes) -> Codes:
    """Return the codes of sums."""
    return known(packed(lanes(one) + lanes(other)), one, other)


def summed(codes: Codes) -> Codes:
    """Return the codes of sums along the first dim."""
    return np.where((codes == ARBITRARY).any(0), ARBITRARY, packed(lanes(codes).sum(0)))


def scaled(one: Codes, other: Codes) -> Codes:
    """Return the codes of products, where a factor 0 gives 0."""
    return known(packed(lanes(one) * lanes(other)), one, other)


def product_of(one: int, other: int) -> int:
    """Return the code of a product, like `scaled`."""
    if ARBITRARY in (one, other):
        return ARBITRARY
    return (one >> 31) * (other >> 31) % PRIME << 31 | (one & LAST_LANE) * (other & LAST_LANE) % OTHER_PRIME


def difference_of(one: int, other: int) -> int:
    """Return the code of a difference of two codes that are not arbitrary."""
    return ((one >> 31) - (other >> 31)) % PRIME << 31 | ((one & LAST_LANE) - (other & LAST_LANE)) % OTHER_PRIME


def chosen(mask: Codes, one: Codes, other: Codes) -> Codes:
    """Return the codes of a value where a mask is true, and of another one elsewhere."""
    mask, one, other = np.broadcast_arrays(mask, one, other)
    bits = lanes(mask)
    found = known(packed(bits * lanes(one) % PRIMES + (1 - bits) % PRIMES * lanes(other)), mask, one, other)
    return np.where(mask == ONE, one, np.where(mask == 0, other, found))


def is_ring(element: str) -> bool:
    """Return whether sums and products of an element type are those of polynomials."""
    return element != "i1" and (element.strip("u")[:1] == "i" or is_float(element) or element.startswith("complex"))


def is_integer(element: str) -> bool:
    """Return whether an element type is one of integers, of at least two bits."""
    return element != "i1" and element.strip("u")[:1] == "i"


def mixed(seed: int, operands: Sequence[Codes]) -> Codes:
    """Return new variables, equal for equal seeds and operands."""
    found = np.full((1,), seed, np.uint64)
    for each in operands:
        found = _stirred(_stirred(found) ^ each.view(np.uint64))
    found = _stirred(found)
    low = (found & np.uint64(2**32 - 1)).astype(np.int64)
    return known(packed(np.stack([(found >> np.uint64(32)).astype(np.int64), low], -1)), *operands)


def _stirred(
    values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Return the values of a bijection that looks random: the last steps of splitmix64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
