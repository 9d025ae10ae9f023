"""The console that a command prints its tables to."""

from __future__ import annotations

import os
from argparse import Namespace

from rich.console import Console


class _PipedConsole(Console):
    """A console whose caller handles a broken pipe: rich would end the process with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error that rich has caught."""
        raise BrokenPipeError


def console_of(arguments: Namespace) -> Console:
    """Return a console for standard output with or without colours, as `--color` says.

    Its width is that of the terminal, or that of the variable COLUMNS.
    """
    match arguments.color:
        case "always":
            environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
            return _PipedConsole(highlight=False, force_terminal=True, color_system="standard", _environ=environment)
        case "auto" if not os.environ.get("NO_COLOR"):
            return _PipedConsole(highlight=False)
        case _:
            return _PipedConsole(highlight=False, color_system=None)
