"""The console scripts: Ctrl-C ends a command without a traceback, even while its modules are imported.

`sdy`, `sdy_opt` and `sdy_run` are the main functions of the tools; each is imported with its modules on first use.

Python searches for garbage, by default, whenever 700 more objects exist. While modules are imported it finds none, and
commands make little: searches would take a tenth of the time of `sdy verify`, and a fifth of that of `sdy partition` of
a large program. So a script searches seldom; a command that partitions one or two programs, never. When Python exits,
it would free all modules one by one, which takes a tenth of the time of a short call of `sdy-opt`; the system frees the
memory of a process at once, so a script ends its process.
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

_MODULES = {"sdy": "sdy.tools.main", "sdy_opt": "sdy.tools.sdy_opt", "sdy_run": "sdy.tools.sdy_run"}
# New objects, of about 30 MB, after which Python searches these for garbage; then, searches before a wider one.
_THRESHOLDS = (300_000, 2, 2)
# The words in a command line of `sdy` that makes little garbage; `sdy-opt` makes little, too.
_WITHOUT_COLLECTION = {"partition", "cost", "report", "explain", "check", "diff", "prove", "--prove"}


def __getattr__(name: str) -> Callable[[], int]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _is_script(name):
        gc.set_threshold(*_THRESHOLDS)
    try:
        return partial(_run, name, import_module(_MODULES[name]).main)
    finally:
        signal.signal(signal.SIGINT, handler)


def _run(name: str, main: Callable[[], int]) -> int:
    """Run a tool. If it is run as a script, use little or no garbage collection, and end the process."""
    if not _is_script(name):
        return main()
    gc.freeze()  # the modules stay; otherwise the first search would scan all that they hold
    if name == "sdy_opt" or (name == "sdy" and _WITHOUT_COLLECTION.intersection(sys.argv)):
        gc.disable()
    code = main()
    # `os._exit` skips the exit functions, and `atexit` has no public function that runs them.
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] -- see above
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _is_script(name: str) -> bool:
    """Return whether this process runs the script of a tool, which does no more than to call its main function."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    return script is not None and os.path.basename(script) == name.replace("_", "-")
