"""The console scripts: Ctrl-C ends a command without a traceback, even while its modules are imported.

`sdy`, `sdy_opt` and `sdy_run` are the main functions of the tools; each is imported with its modules on first use.

Python's search for garbage finds none while modules are imported, so it is off until then. A command that partitions
one or two programs makes little garbage: searching the modules of a large program for cycles would take a fifth of the
time of `sdy partition`. When Python exits, it would free all modules one by one, which takes a tenth of a short call of
`sdy-opt`; the system frees the memory of a process at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import NoReturn

_MODULES = {"sdy": "sdy.tools.main", "sdy_opt": "sdy.tools.sdy_opt", "sdy_run": "sdy.tools.sdy_run"}
# The commands of `sdy` with little garbage; `sdy-opt` makes little, too.
_WITHOUT_COLLECTION = ("partition", "cost", "report", "explain", "check", "diff", "prove")


def __getattr__(name: str) -> Callable[[], NoReturn]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    try:
        return partial(_run, name, import_module(_MODULES[name]).main)
    finally:
        gc.freeze()  # the modules stay; otherwise the first search would scan all that they hold
        signal.signal(signal.SIGINT, handler)


def _run(name: str, main: Callable[[], int]) -> NoReturn:
    """Run a tool, with little or no garbage collection, and end the process."""
    if name != "sdy_opt" and not (name == "sdy" and sys.argv[1:2] and sys.argv[1] in _WITHOUT_COLLECTION):
        gc.enable()
    code = main()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] -- there is no public name
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
