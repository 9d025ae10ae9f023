"""The pipelines of Shardy that only `sdy-opt` runs: the passes in order, with the reason where the order matters.

Source: docs/spec/04, 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.passes.export.close.close_shardings import CloseShardingsPass
from sdy.passes.export.close.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.close.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.close.remove_sharding_groups import RemoveShardingGroupsPass
from sdy.passes.export.close.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.close.sharding_constraint_to_reshard import ShardingConstraintToReshardPass
from sdy.passes.export.close.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.uneven.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.manager.pipelines import CONSTRAINTS, IMPORT, Passes, Propagation
from sdy.passes.run import Pipeline
from sdy.passes.save_module import SaveModulePass
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.upstream.inline_meshes import InlineMeshesPass
from sdy.upstream.remove_for_cmv1 import RemoveForCmv1Pass
from sdy.upstream.remove_propagation_debug_info import RemovePropagationDebugInfoPass
from sdy.upstream.verify_unreduced_axes import VerifyUnreducedAxesPass


@dataclass(frozen=True)
class ImportPipeline(Pipeline):
    """Bring a program into the form that propagation needs."""

    name = "sdy-import-pipeline"

    dedup_functions_fully: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes; constraints and groups are left out if calls are imported before them."""
        return (*IMPORT, *(CONSTRAINTS if self.dedup_functions_fully else ()))


@dataclass(frozen=True)
class ExportPipeline(Pipeline):
    """Close all shardings, and insert the reshards that they need."""

    name = "sdy-export-pipeline"

    replica_count: int = 1
    partition_count: int = 1
    dump_directory: str = ""  # the module is written here at each stage; empty: not written
    avoid_export_for_partitioning: bool = False  # the result can be propagated again
    enable_insert_explicit_collectives: bool = False
    remove_all_gather_reduce_scatter_for_cmv1: bool = False
    enable_per_instruction_partitioning: bool = False
    per_instruction_partitioning_filter: str = ""
    keep_sharding_rules: bool = False
    dump_sharding_origins: bool = False
    dump_propagation_edges: bool = False
    avoid_reshards_on_calls: bool = False  # accepted for compatibility with upstream; has no effect
    update_non_divisible_input_output_shardings: bool = True
    verify_unreduced_axes: bool = True
    inline_meshes: bool = True
    dump_index: int = 0  # the number of the first saved stage

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes; without explicit collectives, only reshards that correctness requires are inserted."""
        has_debug_info = self.dump_sharding_origins or self.dump_propagation_edges
        return (
            ConstantOrScalarMergerPass(),  # before closing: shardings are compared including open dims
            SinkDataFlowEdgesPass(self.dump_sharding_origins, self.dump_propagation_edges),
            *(
                ()
                if self.avoid_export_for_partitioning
                else (RemoveShardingGroupsPass(), ShardingConstraintToReshardPass())
            ),
            # Sub-axes before closing: which of them are removed depends on the open dims.
            *(
                (UpdateNonDivisiblePass(), RemoveSubAxesPass())
                if self.update_non_divisible_input_output_shardings
                else ()
            ),
            CloseShardingsPass(),
            *self._saved("after_propagation", 0),
            *(() if self.avoid_export_for_partitioning else self._partitioner()),
            *((RemovePropagationDebugInfoPass(),) if has_debug_info else ()),
            *(() if self.keep_sharding_rules else (DropShardingRulesPass(),)),
            *((InlineMeshesPass(),) if self.inline_meshes and not self.avoid_export_for_partitioning else ()),
        )

    def _partitioner(self) -> Passes:
        """Return the passes from closed shardings to reshards, collectives or partitioned instructions."""
        has_collectives = self.enable_insert_explicit_collectives
        by_instruction = self.enable_per_instruction_partitioning
        kind = "partitioner" if has_collectives else "minimal_partitioner"
        stages = 1 + (2 if by_instruction else int(has_collectives))
        return (
            *((VerifyUnreducedAxesPass(),) if self.verify_unreduced_axes else ()),
            InsertExplicitReshardsPass(enable_full_version=has_collectives or by_instruction),
            *(self._instructions() if by_instruction else self._collectives() if has_collectives else ()),
            CanonicalizePass(("sdy-collective",)),
            *((RemoveForCmv1Pass(),) if has_collectives and self.remove_all_gather_reduce_scatter_for_cmv1 else ()),
            *self._saved(f"after_{kind}_with_global_shapes", stages),
        )

    def _instructions(self) -> Passes:
        from sdy.upstream.per_instruction_partitioning import PerInstructionPartitioningPass

        partition = PerInstructionPartitioningPass(
            filter=self.per_instruction_partitioning_filter,
            replica_count=self.replica_count,
            partition_count=self.partition_count,
        )
        name = "per_instruction_partitioning"
        return (*self._saved(f"before_{name}", 1), partition, *self._saved(f"after_{name}", 2))

    def _collectives(self) -> Passes:
        """Return the passes that simplify chains of reshards and convert each to collectives."""
        from sdy.passes.export.reshards.reshard_to_collectives import ReshardToCollectivesPass

        saved = self._saved("after_explicit_reshards", 1)
        return (*saved, CanonicalizePass(("sdy-reshard",)), ReshardToCollectivesPass())

    def _saved(self, name: str, stage: int) -> Passes:
        return (SaveModulePass(self.dump_directory, name, self.dump_index + stage),) if self.dump_directory else ()


@dataclass(frozen=True)
class PropagationPipeline(Propagation, Pipeline):
    """Import, propagate by user priorities, export."""

    name = "sdy-propagation-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes; mesh symbols stay."""
        # Propagation may leave axes unreduced that later reshards reduce.
        export = ExportPipeline(inline_meshes=False, dump_index=2, verify_unreduced_axes=False)
        return (*self.propagation(), *export.passes())
