"""What programs exchange with the world outside of the devices: feeds, channels, probes and printed values."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sdy.interpreter.arrays.element_types import Array, compute_dtype

Channel = tuple[int, int]  # channel number, target device


def _discard(text: str) -> None:
    """Where printed values go by default."""


def _is_ready(ready: Callable[[], bool]) -> bool:
    """A program that runs alone waits for nobody."""
    return ready()


@dataclass(slots=True)
class Host:
    """The state of one run that its devices share.

    `infeed` holds the names of the functions that make the next inputs, `outfeed` what the devices handed over;
    `channels` what was sent and not yet received; `probes` every value that a probe saw, by probe and in order.
    `random` is where `rng` draws from, the same in every run. `wait_until` lets other programs run until a condition
    holds, and tells whether it does.
    """

    write: Callable[[str], None] = _discard
    probe_folder: Path | None = None
    infeed: deque[str] = field(default_factory=deque[str])
    outfeed: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])
    channels: dict[Channel, deque[tuple[Array, ...]]] = field(default_factory=dict[Channel, deque[tuple[Array, ...]]])
    probes: dict[str, list[Array]] = field(default_factory=dict[str, list[Array]])
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    wait_until: Callable[[Callable[[], bool]], bool] = _is_ready

    def keep_probe(self, name: str, value: Array) -> None:
        """Keeps a value that the probe `name` saw, also as a NumPy file where there is a folder for probes."""
        seen = self.probes.setdefault(name, [])
        if self.probe_folder is not None:
            file = self.probe_folder / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}_{len(seen)}.npy"
            np.save(file, value.astype(compute_dtype(value.dtype)))  # readers know the dtypes of NumPy alone
        seen.append(value)
