"""Hints for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module


def similar_name_hint(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint that names the known name most similar to `name`, or None if no known name is similar.

    >>> similar_name_hint("sdy-propagat", ["sdy-propagate", "sdy-export"], "--")
    'did you mean --sdy-propagate?'
    """
    difflib = import_module("difflib")  # imported here, because most commands make no hint
    close: list[str] = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {prefix}{close[0]}?" if close else None
