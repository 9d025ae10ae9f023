"""Numbers with nouns, for messages and representations."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    >>> counted(1, "dim"), counted(2_000, "dim")
    ('1 dim', '2,000 dims')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
