"""The options of a compilation: which passes propagate shardings, and which make the communication explicit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.passes import ModulePass

from sdy.passes.manager.partition_pipelines import LocalPipeline, partitioning, required_reshards
from sdy.passes.manager.pipelines import Passes, Propagation
from sdy.passes.propagation.propagate import ScheduledPass


@dataclass(frozen=True)
class CompileOptions:
    """The passes by which a module is compiled: by default, those of `sdy partition`.

    Without `optimize_communication`, no op is rewritten to send fewer bytes. `collective_bytes` are the bytes that the
    optimizer may send more to save a collective; by default, few. Without `plan_reshards`, reshards become collectives
    by the fixed schedule of Shardy, which sends more bytes, and takes less time on some machines. `propagation`
    propagates shardings in place of `sdy-user-priority-propagate`. `partitioning` are the passes from closed shardings
    to collectives on global tensors. `pipeline` are all passes from the program of the user to collectives on global
    tensors, in place of both.
    """

    optimize_communication: bool = True
    collective_bytes: int | None = None
    plan_reshards: bool = True
    propagation: ModulePass | None = None
    partitioning: Passes | None = None
    pipeline: Passes | None = None

    def propagates(self, *, dedup_functions_fully: bool = False) -> Passes:
        """Return the passes from the program of the user to closed shardings; see `Propagation`."""
        found = Propagation.beyond_shardy(dedup_functions_fully=dedup_functions_fully)
        given = self.propagation
        if isinstance(given, ScheduledPass):
            given = replace(given, keep_sharding_rules=True)  # which the partitioner needs
        return found.closed(given)

    def shows_propagation(self) -> Passes:
        """Return the passes of `propagates`, and the reshards that correctness requires."""
        return (*self.propagates(), *required_reshards())

    def partitions(self, *, dedup_functions_fully: bool = False) -> tuple[Passes, Passes]:
        """Return the passes to closed shardings, and those from there to collectives; layers stay folded."""
        if self.pipeline is not None:
            return self.pipeline, ()
        after = self.partitioning
        if after is None:
            after = partitioning(
                self.collective_bytes,
                optimize_communication=self.optimize_communication,
                plan_reshards=self.plan_reshards,
            )
        return self.propagates(dedup_functions_fully=dedup_functions_fully), after

    def without_optimizer(self) -> CompileOptions | None:
        """Return these options without the optimizer; None if it does not run, or not to send as few bytes as possible.

        It does not run if passes are given in place of it.
        """
        is_optimized = self.optimize_communication and self.partitioning is None and self.pipeline is None
        minimizes_bytes = is_optimized and self.collective_bytes is None
        return replace(self, optimize_communication=False) if minimizes_bytes else None

    def lowers(self) -> ModulePass:
        """Return the pass from collectives on global tensors to the program of one device; layers stay folded."""
        return LocalPipeline(self.optimize_communication, keep_layers=True)


DEFAULT = CompileOptions()
