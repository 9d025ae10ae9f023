"""The setting that lets text use ops, attributes and types of dialects that are not registered.

It imports nothing, so that commands can set it before they know whether they read a program.
"""

from __future__ import annotations

_allowed = False


def allow_unregistered_dialects(allowed: bool) -> None:
    """Allow or forbid ops, attributes and types of unregistered dialects in text that is read from now on."""
    global _allowed
    _allowed = allowed


def allows_unregistered_dialects() -> bool:
    """Return whether text may use ops, attributes and types of unregistered dialects; at first, it may not."""
    return _allowed
