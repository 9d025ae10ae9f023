"""Attribute aliases, which a text may refer to."""

from __future__ import annotations

from collections.abc import Callable

Aliases = Callable[[str], object]  # the value of `#name`; None if it is not defined


def no_aliases(_: str) -> None:
    """Define no aliases: the `Aliases` of a text outside of a module."""
