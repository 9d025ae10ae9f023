"""Partitions copies of a program with other annotations, of which only the program of each device is needed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.module_text import make_context, print_module
from sdy.passes.manager.partition_pipelines import partitioning
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.run import run_passes
from sdy.program.local_program import local_program
from sdy.program.origin import Origin, R


class TrialPartitions:
    """The local programs of edited copies of a program.

    Copies in which the same shardings propagate, such as two with different priorities, are partitioned once.
    """

    def __init__(self, origin: Origin[R], *, optimize_communication: bool) -> None:
        self._origin = origin
        self._optimizes = optimize_communication
        self._known: dict[str, ModuleOp] = {}

    @garbage_collection_paused()
    def local(self, module: ModuleOp) -> ModuleOp:
        """Return the program of one device. Raises: SdyError at the first op that is unsupported."""
        context, copy = make_context(), copy_with_regions(module)
        with self._origin.named_lines():
            run_passes(context, copy, Propagation.beyond_shardy().closed(), verify_each=False)
            text = print_module(copy)
            if text not in self._known:
                passes = partitioning(optimize_communication=self._optimizes)
                run_passes(context, copy, passes, verify_each=False)
                self._known[text] = local_program(copy, context, optimize_communication=self._optimizes)
        return self._known[text]
