"""The slot for an auto-partitioner: passes that choose shardings where neither the user nor propagation did.

One process has one. The propagation pipeline runs its passes after propagation, where it is asked to
(`enable-auto-partitioning`). Source: docs/spec/02, 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

AutoPartitioner = Callable[[], Sequence[ModulePass]]  # asked each time a pipeline is put together

_lock = Lock()
_slot: list[AutoPartitioner] = []


def register(partitioner: AutoPartitioner) -> None:
    """Fill the slot. Raises: SdyError SDY-T113 where it is filled."""
    with _lock:
        if _slot:
            message = "an auto-partitioner is registered already"
            raise SdyError(Diagnostic("SDY-T113", message, hint="call auto_partitioner.clear() first"))
        _slot.append(partitioner)


def clear() -> None:
    """Empty the slot, if it is filled."""
    with _lock:
        _slot.clear()


def is_registered() -> bool:
    """Whether the slot is filled."""
    return bool(_slot)


def passes() -> tuple[ModulePass, ...]:
    """The passes of the auto-partitioner. Raises: SdyError SDY-T114 where there is none."""
    with _lock:
        partitioner = _slot[0] if _slot else None
    if partitioner is None:
        message = "auto-partitioning is enabled, and no auto-partitioner is registered"
        raise SdyError(Diagnostic("SDY-T114", message, hint="call auto_partitioner.register(...) first"))
    return tuple(partitioner())
