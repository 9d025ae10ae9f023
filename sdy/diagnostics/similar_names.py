"""Hints for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def similar_name_hint(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint that names the known name most similar to `name`, or None if no known name is similar.

    >>> similar_name_hint("sdy-propagat", ["sdy-propagate", "sdy-export"], "--")
    'did you mean --sdy-propagate?'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {prefix}{close[0]}?" if close else None
