"""The auto-partitioner of this process: passes that choose shardings which neither user nor propagation chose.

The propagation pipeline runs them after propagation if the option `enable-auto-partitioning` is set.
Source: docs/spec/02, 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

AutoPartitioner = Callable[[], Sequence[ModulePass]]  # called each time a pipeline is built

_lock = Lock()
_slot: list[AutoPartitioner] = []


def register(partitioner: AutoPartitioner) -> None:
    """Register the auto-partitioner. Raises: SdyError SDY-T113 if one is registered already."""
    with _lock:
        if _slot:
            message = "an auto-partitioner is already registered"
            raise SdyError(Diagnostic("SDY-T113", message, hint="call sdy.extend.clear_auto_partitioner() first"))
        _slot.append(partitioner)


def clear() -> None:
    """Unregister the auto-partitioner, if there is one."""
    with _lock:
        _slot.clear()


def passes() -> tuple[ModulePass, ...]:
    """Return the passes of the auto-partitioner. Raises: SdyError SDY-T114 if none is registered."""
    with _lock:
        partitioner = _slot[0] if _slot else None
    if partitioner is None:
        message = "auto-partitioning is enabled, but no auto-partitioner is registered"
        raise SdyError(Diagnostic("SDY-T114", message, hint="call sdy.extend.register_auto_partitioner(...) first"))
    return tuple(partitioner())
