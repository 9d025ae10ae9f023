"""Runs of a program on one device, and of its local program on all, and the observers that show their progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from sdy.compile.compiled import Compiled
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.executor import CompiledBlocks, OpObserver
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.run import RunSettings

Watch = Callable[[str, FuncOp], AbstractContextManager[OpObserver | None]]
"""Called with the name of a run and its function; the observer is called after each op until the context ends."""


def unwatched(name: str, function: FuncOp) -> AbstractContextManager[OpObserver | None]:
    """Return a context without an observer."""
    return nullcontext()


# The loops of a local program may run so many iterations, given those of the program: a fault may make one endless.
FACTOR_OF_ITERATIONS, MORE_ITERATIONS = 4, 1000


class BothPrograms:
    """A program and its local program, and the blocks of both that were compiled so far.

    Programs whose floats are numbers of a field run in one.
    """

    def __init__(self, program: Compiled[Any]) -> None:
        self.program = program
        # Of each program, with and without an observer.
        self._blocks: dict[tuple[str, bool], CompiledBlocks] = defaultdict(dict)
        self._iterations = 0

    def on_one_device(
        self, inputs: Sequence[Array], field: Field | None = None, observer: OpObserver | None = None
    ) -> list[Array]:
        """Return the results of the program. Raises: SdyError if it cannot be run."""
        host = self.program.origin.host()
        settings = RunSettings(observer, field, self._blocks["original", observer is not None], host)
        results = self.program.run_on_one_device(inputs, settings)
        self._iterations = host.iterations
        return results

    def on_devices(
        self, inputs: Sequence[Array], field: Field | None = None, observer: OpObserver | None = None
    ) -> list[DeviceArray]:
        """Return the results of the local program, after a run of the program on the same inputs.

        Raises: SdyError if it cannot be run; with the code SDY-X023 if its loops run far more often than those of the
        program.
        """
        host = self.program.origin.host()
        host.most_iterations = FACTOR_OF_ITERATIONS * self._iterations + MORE_ITERATIONS
        settings = RunSettings(observer, field, self._blocks["local", observer is not None], host)
        return self.program.run_on_devices(inputs, settings)

    def has_run(self, block: Block) -> bool:
        """Return whether a block of the program has run."""
        return any(block in self._blocks["original", is_observed] for is_observed in (False, True))
