"""What a command does when the one that reads its output goes away, as `head` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps

NOBODY_READS = 141  # as shells report a command that SIGPIPE ended
Main = Callable[[Sequence[str] | None], int]


def ends_with_its_reader(main: Main) -> Callable[..., int]:
    """A `main` that ends without a word, and with the exit code 141, when nobody reads its standard output any more."""

    @wraps(main)
    def quiet(words: Sequence[str] | None = None) -> int:
        try:
            try:
                return main(words)
            finally:
                sys.stdout.flush()  # here, where a failure is caught, and not as Python ends
        except BrokenPipeError:
            # Python flushes once more as it ends: what is left goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return NOBODY_READS

    return quiet
