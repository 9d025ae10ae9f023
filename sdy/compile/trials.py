"""Compiles copies of a program with other annotations, for the program of each device or its cost alone."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import partitioned
from sdy.compile.options import CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.propagated import boundary_of
from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import ProgramCost, cost_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.module_text import make_context, print_module
from sdy.passes.run import run_passes


class TrialPartitions:
    """The local programs of edited copies of a program.

    Copies in which the same shardings propagate, such as two with different priorities, are partitioned once.
    """

    def __init__(self, origin: Origin[Any], options: CompileOptions) -> None:
        self._origin, self._options = origin, options
        self._known: dict[str, ModuleOp] = {}

    @garbage_collection_paused()
    def local(self, module: ModuleOp) -> ModuleOp:
        """Return the program of one device. Raises: SdyError at the first op that is unsupported."""
        context, copy = make_context(), copy_with_regions(module)
        propagation, _ = self._options.partitions()
        with self._origin.named_lines():
            run_passes(context, copy, propagation, verify_each=False)
            text = print_module(copy)
            if text not in self._known:
                self._known[text] = partitioned(copy, context, self._options, self._origin.checks).local
        return self._known[text]


@garbage_collection_paused()
def folded_cost(module: ModuleOp, hardware: Hardware, free_bytes: float, options: CompileOptions) -> ProgramCost:
    """Return the cost of a module after `sdy-fold-layers`, partitioned in a copy; its layers run as calls.

    A function has the same shardings in all its calls, so that the cost may differ from that of the unfolded program.
    Raises: SdyError at the first op that is unsupported.
    """
    context, copy = make_context(), copy_with_regions(module)
    propagation, partitioning = options.partitions(dedup_functions_fully=True)
    run_passes(context, copy, (*propagation, *partitioning), verify_each=False)
    mesh = boundary_of(copy).mesh
    run_passes(context, copy, [options.lowers()], verify_each=False)
    return cost_of(copy, mesh, hardware, free_bytes)
