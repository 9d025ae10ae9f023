"""The console scripts: Ctrl-C ends a command without a traceback, even while its modules are imported.

`sdy`, `sdy_opt` and `sdy_run` are the main functions of the tools; each is imported with its modules on first use.
A command that partitions one or two programs makes little garbage: searching the modules of a large program for cycles
would take a fifth of the time of `sdy partition`, most of it when Python exits.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

_MODULES = {"sdy": "sdy.tools.main", "sdy_opt": "sdy.tools.sdy_opt", "sdy_run": "sdy.tools.sdy_run"}
# The commands with little garbage.
_WITHOUT_COLLECTION = ("partition", "cost", "report", "explain", "check", "diff", "prove")


def __getattr__(name: str) -> Callable[[], int]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return partial(_run, name, import_module(_MODULES[name]).main)
    finally:
        signal.signal(signal.SIGINT, handler)


def _run(name: str, main: Callable[[], int]) -> int:
    """Run a tool with little or no garbage collection."""
    if name == "sdy" and sys.argv[1:2] and sys.argv[1] in _WITHOUT_COLLECTION:
        gc.disable()
    try:
        return main()
    finally:
        gc.freeze()  # Python looks for garbage at exit
