"""The wall time of passes and of other stages of a run: for the log, and for `sdy-opt --mlir-timing`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter

VERIFICATION = "Verification"  # the stage of all verification
_RULE = f"===-{'-' * 73}-==="


class Timings:
    """The seconds of named stages, in the order in which they first ran; stages of one name are added up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = perf_counter()

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        """Add the time of a block to a stage, and log it at level DEBUG."""
        start = perf_counter()
        try:
            yield
        finally:
            spent = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            if "logging" in sys.modules:  # otherwise nobody reads the log, and importing it would take long
                logger = import_module("logging").getLogger(__name__)
                logger.debug("%s took %.3f ms", name, 1e3 * spent)

    def report(self, *, by_time: bool = False) -> str:
        """Return a table like that of MLIR: the stages, the rest of the time since the start, and the total.

        With `by_time`, the stages that took longest come first.
        """
        total = perf_counter() - self._start
        stages = list(self.seconds.items())
        if by_time:
            stages.sort(key=lambda stage: -stage[1])
        rows = [*stages, ("Rest", total - sum(self.seconds.values())), ("Total", total)]
        return "\n".join(
            (
                _RULE,
                "... Execution time report ...".center(len(_RULE)).rstrip(),
                _RULE,
                f"  Total Execution Time: {total:.4f} seconds",
                "",
                "  ----Wall Time----  ----Name----",
                *(f"  {seconds:8.4f} ({seconds / total:6.1%})  {name}" for name, seconds in rows),
            )
        )
