"""The console scripts: Ctrl-C ends a command without a traceback, even while its modules are imported."""

from __future__ import annotations

import signal
from importlib import import_module
from typing import Protocol, cast


class _Tool(Protocol):
    """The module of a command."""

    def main(self) -> int:
        """Run the command line, and return its exit code."""
        ...


def sdy() -> int:
    """Run `sdy`."""
    return _run("sdy.tools.main")


def sdy_opt() -> int:
    """Run `sdy-opt`."""
    return _run("sdy.tools.sdy_opt")


def sdy_run() -> int:
    """Run `sdy-run`."""
    return _run("sdy.tools.sdy_run")


def _run(module: str) -> int:
    """Import the module of a command, which takes most of the time of a short command, and run it."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    tool = cast(_Tool, import_module(module))
    signal.signal(signal.SIGINT, handler)
    return tool.main()
