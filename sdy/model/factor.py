"""What factors are called. Source: docs/spec/01, 1.4.8."""

from __future__ import annotations

import re

_LETTERS = "ijklmnopqrstuvwxyz"
_SYMBOL = re.compile(r"z_([1-9][0-9]*)|(?!z_)[i-z]")
_LARGEST_NUMBER = 2**63 - 1


def factor_symbol(factor: int) -> str:
    """The symbol of a factor.

    >>> [factor_symbol(factor) for factor in (0, 1, 17, 18, 27)]
    ['i', 'j', 'z', 'z_1', 'z_10']
    """
    return _LETTERS[factor] if 0 <= factor < len(_LETTERS) else f"z_{factor - len(_LETTERS) + 1}"


def factors_of(word: str) -> tuple[int, ...] | None:
    """The factors whose symbols make up `word`, None where it holds something else.

    >>> factors_of("ij"), factors_of("zz_1"), factors_of("z_2i"), factors_of("z_0")
    ((0, 1), (17, 18), (19, 0), None)
    """
    factors: list[int] = []
    place = 0
    while place < len(word):
        match = _SYMBOL.match(word, place)
        if match is None:
            return None
        number = match[1]
        if number is None:
            factors.append(_LETTERS.index(match[0]))
        elif len(number) <= len(str(_LARGEST_NUMBER)) and int(number) <= _LARGEST_NUMBER:
            factors.append(len(_LETTERS) - 1 + int(number))
        else:
            return None
        place = match.end()
    return tuple(factors)
