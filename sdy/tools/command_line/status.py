"""The exit code of a command that may end with an error."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sdy.diagnostics.diagnostic import SdyError, render
from sdy.tools.command_line.exit_codes import INTERRUPTED, NOT_RUN


def status_of(run: Callable[[], int]) -> int:
    """Return the exit code that `run` returns. The diagnostics of an error are printed to standard error."""
    try:
        return run()
    except SdyError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return NOT_RUN
    except KeyboardInterrupt:
        return INTERRUPTED
