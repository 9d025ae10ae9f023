"""The host side of a run: infeed, outfeed, channels, probes and printed values."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype
from sdy.interpreter.failure import failure

Channel = tuple[int, int]  # channel number, target device


def kernel_key(name: str, *kinds: Iterable[tuple[DType, tuple[int, ...]]]) -> str:
    """Return the key of a kernel among `Host.callbacks`, by its name and the types of its operands and results."""
    return re.sub(r"[^\w.-]", "_", name) + str([[(dtype.name, *shape) for dtype, shape in each] for each in kinds])


def _discard(text: str) -> None:
    """Ignore printed values: the default of `Host.write`."""


def _is_ready(ready: Callable[[], bool]) -> bool:
    """Return whether the condition holds: a program that runs alone cannot wait for another one."""
    return ready()


@dataclass(slots=True)
class Host:
    """The state of one run that its devices share.

    `infeed` holds the names of the functions that compute the next inputs, `outfeed` the values that devices wrote,
    `channels` the values sent and not yet received, `probes` the values that each probe saw, in order. `random` is the
    source of `rng`, seeded equally in every run. `callbacks` are the Python functions that callbacks of JAX call by
    their number, and calls of `custom_partitioning` and of kernels of Pallas by a key. `wait_until` lets other programs
    run until a condition holds, and returns whether it does. `iterations` counts those of all loops; there may be at
    most `most_iterations`.
    """

    write: Callable[[str], None] = _discard
    probe_folder: Path | None = None
    infeed: deque[str] = field(default_factory=deque[str])
    outfeed: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])
    channels: dict[Channel, deque[tuple[Array, ...]]] = field(default_factory=dict[Channel, deque[tuple[Array, ...]]])
    probes: dict[str, list[Array]] = field(default_factory=dict[str, list[Array]])
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    callbacks: Mapping[str, Callable[..., Sequence[Array]]] = field(
        default_factory=dict[str, "Callable[..., Sequence[Array]]"]
    )
    wait_until: Callable[[Callable[[], bool]], bool] = _is_ready
    iterations: int = 0
    most_iterations: int | None = None

    def count_iteration(self) -> None:
        """Count an iteration of a loop. Raises: SdyError SDY-X023 if there are too many."""
        self.iterations += 1
        if self.most_iterations is not None and self.iterations > self.most_iterations:
            message = f"the loops of the program run more than {self.most_iterations} iterations"
            raise failure("SDY-X023", message, hint="the program that it is compared with runs far fewer")

    def keep_probe(self, name: str, value: Array) -> None:
        """Record a value that the probe `name` saw, also as a NumPy file if there is a probe folder."""
        seen = self.probes.setdefault(name, [])
        if self.probe_folder is not None:
            file = self.probe_folder / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}_{len(seen)}.npy"
            np.save(file, value.astype(compute_dtype(value.dtype)))  # `np.load` reads only the dtypes of NumPy itself
        seen.append(value)
