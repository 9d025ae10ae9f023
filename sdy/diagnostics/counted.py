"""Numbers with nouns and lists of names, for messages and representations."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN_NAMES = 3


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    >>> counted(1, "dim"), counted(2_000, "dim")
    ('1 dim', '2,000 dims')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def first_names(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others.

    >>> first_names(["line 4", "line 9", "line 14", "line 19", "line 24"])
    'line 4, line 9, line 14 and 2 more'
    """
    others = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {others:,} more" if others > 0 else "")
