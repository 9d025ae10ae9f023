"""What programs exchange with the world outside of the devices: feeds, channels, probes and printed values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sdy.interpreter.element_types import Array


def _no_text(text: str) -> None:
    """Where printed values go by default."""


@dataclass(slots=True)
class Host:
    """The state of one run that its devices share.

    `infeed` holds the names of the functions that make the next inputs; `channels` what was sent and not yet
    received, by channel number; `probes` every value that a probe saw, by probe and in order.
    """

    write: Callable[[str], None] = _no_text
    probe_folder: Path | None = None
    infeed: deque[str] = field(default_factory=deque[str])
    channels: dict[int, deque[tuple[Array, ...]]] = field(default_factory=dict[int, deque[tuple[Array, ...]]])
    probes: dict[str, list[Array]] = field(default_factory=dict[str, list[Array]])
