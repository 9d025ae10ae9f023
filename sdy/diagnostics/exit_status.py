"""The exit status of a process in words."""

from __future__ import annotations

import signal


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
