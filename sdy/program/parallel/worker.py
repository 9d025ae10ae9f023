"""A process of `Processes`: it runs the functions that it reads from standard input, and answers on standard output."""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from typing import cast

from sdy.program.parallel.processes import Run, answered


def main() -> None:
    """Answer each run, until the process that asks has ended."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a run prints would mix with the answers
    with suppress(EOFError, BrokenPipeError):
        while True:
            run = cast(Run[object], pickle.load(sys.stdin.buffer))
            pickle.dump(answered(run), answers)
            answers.flush()


if __name__ == "__main__":
    main()
