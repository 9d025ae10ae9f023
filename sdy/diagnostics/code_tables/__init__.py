"""The tables of diagnostic codes, by subject."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """The cause of a diagnostic, and how to fix it."""

    cause: str
    fix: str
