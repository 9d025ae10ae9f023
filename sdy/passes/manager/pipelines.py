"""The pipelines of Shardy: the passes in order, with the reason where the order matters.

Those that lower shardings to the program of one device are in `partition_pipelines`. Source: docs/spec/04, 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.passes.chlo.sharding_rules import DropChloShardingRulesPass, PopulateChloShardingRulesPass
from sdy.passes.export.calls.export_named_computations import ExportNamedComputationsPass
from sdy.passes.export.calls.insert_func_call_reshards import InsertFuncCallReshardsPass
from sdy.passes.export.calls.unflatten_call_graph import UnflattenCallGraphPass
from sdy.passes.export.close.close_shardings import CloseShardingsPass
from sdy.passes.export.close.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.close.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.close.inline_meshes import InlineMeshesPass
from sdy.passes.export.close.propagate_to_func_results import PropagateToFuncResultsPass
from sdy.passes.export.close.remove_propagation_debug_info import RemovePropagationDebugInfoPass
from sdy.passes.export.close.remove_sharding_groups import RemoveShardingGroupsPass
from sdy.passes.export.close.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.close.sharding_constraint_to_reshard import ShardingConstraintToReshardPass
from sdy.passes.export.close.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.close.sink_func_data_flow_edges import SinkFuncDataFlowEdgesPass
from sdy.passes.export.collectives.remove_for_cmv1 import RemoveForCmv1Pass
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.reshards.verify_unreduced_axes import VerifyUnreducedAxesPass
from sdy.passes.export.uneven.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.import_.add_data_flow_edges import AddDataFlowEdgesPass
from sdy.passes.import_.add_func_data_flow_edges import AddFuncDataFlowEdgesPass
from sdy.passes.import_.apply_sharding_constraints import ApplyShardingConstraintsPass
from sdy.passes.import_.constant_or_scalar_splitter import ConstantOrScalarSplitterPass
from sdy.passes.import_.explicit_gather_scatter_batching import ExplicitGatherScatterBatchingPass
from sdy.passes.import_.flatten_call_graph import FlattenCallGraphPass
from sdy.passes.import_.fold_pads import FoldPadsPass
from sdy.passes.import_.import_func_calls import ImportFuncCallsPass
from sdy.passes.import_.lift_inlined_meshes import LiftInlinedMeshesPass
from sdy.passes.import_.manual_axes_cleanup import ManualAxesCleanupPass
from sdy.passes.import_.pre_order_funcs import PreOrderFuncsPass
from sdy.passes.import_.propagate_sharding_from_func_to_call import PropagateShardingFromFuncToCallPass
from sdy.passes.import_.remove_size_one_axes import RemoveSizeOneAxesPass
from sdy.passes.import_.sharding_group_import import ShardingGroupImportPass
from sdy.passes.import_.unify_meshes import UnifyMeshesPass
from sdy.passes.manager import auto_partitioner
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
from sdy.passes.run import Pipeline
from sdy.passes.save_module import SaveModulePass
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.passes.simplify.symbol_dce import SymbolDcePass

Passes = tuple[ModulePass, ...]

IMPORT: Passes = (
    SymbolDcePass(),
    LiftInlinedMeshesPass(),  # before all passes that read shardings: they expect mesh symbols
    RemoveSizeOneAxesPass(),
    PropagateShardingFromFuncToCallPass(),
    ConstantOrScalarSplitterPass(),  # copies functions; symbol-dce removes the originals
    SymbolDcePass(),
    ManualAxesCleanupPass(),  # expects mesh symbols and no axes of size 1
    AddDataFlowEdgesPass(),
)
# Constraints after data-flow edges, so that values of an edge stay open; groups last, since constraints may join them.
CONSTRAINTS: Passes = (ApplyShardingConstraintsPass(), ShardingGroupImportPass())

# Each call gets its own copy of the callee and becomes a region, through which propagation passes.
CALLS_TO_COMPUTATIONS: Passes = (
    FlattenCallGraphPass(),
    SymbolDcePass(),
    ImportFuncCallsPass(),
    SymbolDcePass(),
)
COMPUTATIONS_TO_CALLS: Passes = (ExportNamedComputationsPass(), PropagateToFuncResultsPass())

CLOSE: Passes = (
    ConstantOrScalarMergerPass(),  # before closing: shardings are compared including open dims
    SinkDataFlowEdgesPass(),
    RemoveShardingGroupsPass(),
    ShardingConstraintToReshardPass(),
    UpdateNonDivisiblePass(keep_called=True),
    RemoveSubAxesPass(),  # reads which dims are open
    CloseShardingsPass(),
)


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
        from sdy.passes.export.per_instruction.per_instruction_partitioning import PerInstructionPartitioningPass

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
class PropagationPipeline(Pipeline):
    """Import, propagate by user priorities, export.

    By default it does what Shardy does. With `through_chlo`, CHLO ops get the rules of the ops to which XLA lowers
    them; Shardy has no rules for CHLO. With `on_one_mesh`, shardings propagate between tensors on several meshes;
    Shardy propagates only within each mesh. With `explicit_batching`, dims that gathers and scatters index by their own
    positions become batching dims, which can be sharded; Shardy leaves this to its caller, and knows only the first
    dim. With `fold_pads`, windows read values that are not padded, whose dims can be sharded. With `until_stable`, ops
    are visited that Shardy misses although axes could be propagated through them.
    """

    name = "sdy-propagation-pipeline"

    dedup_functions_fully: bool = False
    enable_auto_partitioning: bool = False
    through_chlo: bool = False
    on_one_mesh: bool = False
    explicit_batching: bool = False
    fold_pads: bool = False
    until_stable: bool = False

    @staticmethod
    def beyond_shardy(*, dedup_functions_fully: bool = False) -> PropagationPipeline:
        """Return the pipeline of the commands of sdy, which propagate further than Shardy."""
        return PropagationPipeline(
            dedup_functions_fully,
            through_chlo=True,
            on_one_mesh=True,
            explicit_batching=True,
            fold_pads=True,
            until_stable=True,
        )

    def before_propagation(self) -> Passes:
        """Return the passes from the user's program to the input of propagation."""
        folding = (FoldPadsPass(),) if self.fold_pads else ()
        batching = (ExplicitGatherScatterBatchingPass(all_dims=True),) if self.explicit_batching else ()
        before = (*folding, *batching, *IMPORT, *((UnifyMeshesPass(),) if self.on_one_mesh else ()))
        rules = (PopulateChloShardingRulesPass(),) if self.through_chlo else ()
        if self.dedup_functions_fully:
            return (*before, *CONSTRAINTS, AddFuncDataFlowEdgesPass(), PreOrderFuncsPass(), *rules)
        return (*before, *CALLS_TO_COMPUTATIONS, *CONSTRAINTS, PreOrderFuncsPass(), *rules)

    def propagation(self) -> Passes:
        """Return the passes from the user's program to shardings on every value. Rules stay for the export."""
        back: Passes = COMPUTATIONS_TO_CALLS
        if self.dedup_functions_fully:
            back = (PropagateToFuncResultsPass(), SinkFuncDataFlowEdgesPass())
        return (
            *self.before_propagation(),
            UserPriorityPropagatePass(keep_sharding_rules=True, until_stable=self.until_stable),
            *((DropChloShardingRulesPass(),) if self.through_chlo else ()),
            *back,
            UnflattenCallGraphPass(),
            SymbolDcePass(),
            *(auto_partitioner.passes() if self.enable_auto_partitioning else ()),
            InsertFuncCallReshardsPass(),  # after every pass that changes the shardings of functions
        )

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes; mesh symbols stay."""
        # Propagation may leave axes unreduced that later reshards reduce.
        export = ExportPipeline(inline_meshes=False, dump_index=2, verify_unreduced_axes=False)
        return (*self.propagation(), *export.passes())
