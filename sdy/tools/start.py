"""The console scripts: Ctrl-C ends a command without a traceback, even while its modules are imported.

`sdy`, `sdy_opt` and `sdy_run` are the main functions of the tools; each is imported with its modules on first use.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib import import_module

_MODULES = {"sdy": "sdy.tools.main", "sdy_opt": "sdy.tools.sdy_opt", "sdy_run": "sdy.tools.sdy_run"}


def __getattr__(name: str) -> Callable[[], int]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return import_module(_MODULES[name]).main
    finally:
        signal.signal(signal.SIGINT, handler)
