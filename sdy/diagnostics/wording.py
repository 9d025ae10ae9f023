"""Parts of messages: numbers with nouns, lists of names, hints for unknown names, and how a process ended."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from importlib import import_module

SHOWN_NAMES = 3


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    >>> counted(1, "dim"), counted(2_000, "dim")
    ('1 dim', '2,000 dims')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def first_names(names: Sequence[str], most: int = SHOWN_NAMES) -> str:
    """Return the first names, and the number of the others.

    >>> first_names(["line 4", "line 9", "line 14", "line 19", "line 24"])
    'line 4, line 9, line 14 and 2 more'
    """
    others = len(names) - most
    return ", ".join(names[:most]) + (f" and {others:,} more" if others > 0 else "")


def exit_text(status: int) -> str:
    """Return how a process with this exit status ended; a negative one is the number of a signal.

    >>> exit_text(1), exit_text(-11)
    ('ended with status 1', 'was ended by signal 11, segmentation fault')
    """
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.strsignal(-status)
    except ValueError:
        name = None
    return f"was ended by signal {-status}" + (f", {name.lower()}" if name else "")


def similar_name_hint(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint that names the known name most similar to `name`, or None if no known name is similar.

    >>> similar_name_hint("sdy-propagat", ["sdy-propagate", "sdy-export"], "--")
    'did you mean --sdy-propagate?'
    """
    difflib = import_module("difflib")  # imported here, because most commands make no hint
    close: list[str] = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {prefix}{close[0]}?" if close else None
