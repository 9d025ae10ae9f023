"""Compiles copies of a program with other annotations, of which only the program of each device is needed."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import lowered
from sdy.compile.options import CompileOptions
from sdy.compile.origin import Origin
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
        propagation, partitioning = self._options.partitions()
        with self._origin.named_lines():
            run_passes(context, copy, propagation, verify_each=False)
            text = print_module(copy)
            if text not in self._known:
                run_passes(context, copy, partitioning, verify_each=False)
                self._known[text] = lowered(copy, context, self._options)
        return self._known[text]
