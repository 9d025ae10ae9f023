"""The pipelines: which passes run in which order, and why where it matters.

Source: spec of import and export, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.passes import auto_partitioner
from sdy.passes.canonicalize import CanonicalizePass
from sdy.passes.export.close_shardings import CloseShardingsPass
from sdy.passes.export.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.drop_uneven_axes import DropUnevenAxesPass
from sdy.passes.export.export_named_computations import ExportNamedComputationsPass
from sdy.passes.export.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.insert_func_call_reshards import InsertFuncCallReshardsPass
from sdy.passes.export.prepare_for_shards import PrepareForShardsPass
from sdy.passes.export.propagate_to_func_results import PropagateToFuncResultsPass
from sdy.passes.export.remove_sharding_groups import RemoveShardingGroupsPass
from sdy.passes.export.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.export.sharding_constraint_to_reshard import ShardingConstraintToReshardPass
from sdy.passes.export.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.sink_func_data_flow_edges import SinkFuncDataFlowEdgesPass
from sdy.passes.export.unflatten_call_graph import UnflattenCallGraphPass
from sdy.passes.export.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.import_.add_data_flow_edges import AddDataFlowEdgesPass
from sdy.passes.import_.add_func_data_flow_edges import AddFuncDataFlowEdgesPass
from sdy.passes.import_.apply_sharding_constraints import ApplyShardingConstraintsPass
from sdy.passes.import_.constant_or_scalar_splitter import ConstantOrScalarSplitterPass
from sdy.passes.import_.flatten_call_graph import FlattenCallGraphPass
from sdy.passes.import_.import_func_calls import ImportFuncCallsPass
from sdy.passes.import_.lift_inlined_meshes import LiftInlinedMeshesPass
from sdy.passes.import_.manual_axes_cleanup import ManualAxesCleanupPass
from sdy.passes.import_.pre_order_funcs import PreOrderFuncsPass
from sdy.passes.import_.propagate_sharding_from_func_to_call import PropagateShardingFromFuncToCallPass
from sdy.passes.import_.remove_size_one_axes import RemoveSizeOneAxesPass
from sdy.passes.import_.sharding_group_import import ShardingGroupImportPass
from sdy.passes.inline_meshes import InlineMeshesPass
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
from sdy.passes.run import Pipeline
from sdy.passes.symbol_dce import SymbolDcePass

Passes = tuple[ModulePass, ...]

IMPORT: Passes = (
    SymbolDcePass(),
    LiftInlinedMeshesPass(),  # first of those that look at shardings: all others want names of meshes
    RemoveSizeOneAxesPass(),
    PropagateShardingFromFuncToCallPass(),
    ConstantOrScalarSplitterPass(),  # copies functions, and leaves the originals behind
    SymbolDcePass(),
    ManualAxesCleanupPass(),  # wants names of meshes, and no axes of size 1
    AddDataFlowEdgesPass(),
)
# After the edges: a value that stands for an edge stays free. Groups after constraints, which may join them.
CONSTRAINTS: Passes = (ApplyShardingConstraintsPass(), ShardingGroupImportPass())

# Each call gets a function of its own, and becomes a region that propagation sees through.
CALLS_TO_COMPUTATIONS: Passes = (
    FlattenCallGraphPass(),
    SymbolDcePass(),
    ImportFuncCallsPass(),
    SymbolDcePass(),
)
COMPUTATIONS_TO_CALLS: Passes = (ExportNamedComputationsPass(), PropagateToFuncResultsPass())

CLOSE: Passes = (
    ConstantOrScalarMergerPass(),  # before shardings are closed: equal means equal in this too
    SinkDataFlowEdgesPass(),
    RemoveShardingGroupsPass(),
    ShardingConstraintToReshardPass(),
    UpdateNonDivisiblePass(),
    RemoveSubAxesPass(),  # asks what is open
    CloseShardingsPass(),
)

COLLECTIVES: Passes = (
    InsertExplicitReshardsPass(enable_full_version=True),
    CanonicalizePass(("sdy-reshard",)),  # chains of reshards collapse before each becomes collectives
    ReshardToCollectivesPass(),
)


def before_propagation(*, dedup_functions_fully: bool = False) -> Passes:
    """From the program as it was written to what propagation sees."""
    if dedup_functions_fully:
        return (*IMPORT, *CONSTRAINTS, AddFuncDataFlowEdgesPass(), PreOrderFuncsPass())
    return (*IMPORT, *CALLS_TO_COMPUTATIONS, *CONSTRAINTS, PreOrderFuncsPass())


def propagation(*, dedup_functions_fully: bool = False, enable_auto_partitioning: bool = False) -> Passes:
    """From the program as it was written to shardings on every value. Rules stay: the export uses them."""
    before = before_propagation(dedup_functions_fully=dedup_functions_fully)
    back: Passes = COMPUTATIONS_TO_CALLS
    if dedup_functions_fully:
        back = (PropagateToFuncResultsPass(), SinkFuncDataFlowEdgesPass())
    return (
        *before,
        UserPriorityPropagatePass(keep_sharding_rules=True),
        *back,
        UnflattenCallGraphPass(),
        SymbolDcePass(),
        *(auto_partitioner.passes() if enable_auto_partitioning else ()),
        InsertFuncCallReshardsPass(),  # last: whoever changes the shardings of functions comes before
    )


@dataclass(frozen=True)
class ImportPipeline(Pipeline):
    """Bring a program into the shape that propagation needs."""

    name = "sdy-import-pipeline"

    dedup_functions_fully: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Constraints and groups come later where calls are imported in between."""
        return (*IMPORT, *(CONSTRAINTS if self.dedup_functions_fully else ()))


@dataclass(frozen=True)
class ExportPipeline(Pipeline):
    """Close all shardings, and insert the reshards that they need."""

    name = "sdy-export-pipeline"

    enable_insert_explicit_collectives: bool = False
    keep_sharding_rules: bool = False
    inline_meshes: bool = True

    def passes(self) -> Sequence[ModulePass]:
        """Without explicit collectives, only the reshards without which the program would not be right."""
        return (
            *CLOSE,
            *(COLLECTIVES if self.enable_insert_explicit_collectives else (InsertExplicitReshardsPass(),)),
            CanonicalizePass(("sdy-collective",)),
            *(() if self.keep_sharding_rules else (DropShardingRulesPass(),)),
            *((InlineMeshesPass(),) if self.inline_meshes else ()),
        )


@dataclass(frozen=True)
class PropagationPipeline(Pipeline):
    """Import, propagate by user priorities, export."""

    name = "sdy-propagation-pipeline"

    dedup_functions_fully: bool = False
    enable_auto_partitioning: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Meshes keep their names."""
        shardings = propagation(
            dedup_functions_fully=self.dedup_functions_fully, enable_auto_partitioning=self.enable_auto_partitioning
        )
        return (*shardings, *ExportPipeline(inline_meshes=False).passes())


@dataclass(frozen=True)
class PartitionPipeline(Pipeline):
    """From a program with some shardings to one with explicit collectives on whole tensors."""

    name = "sdy-partition-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """As the propagation pipeline, but every reshard is explicit and done by collectives."""
        return (
            *propagation(),
            *CLOSE,
            DropUnevenAxesPass(),
            PrepareForShardsPass(),  # right before the reshards, which go by the rules that it leaves
            InsertExplicitReshardsPass(enable_full_version=True, include_custom_rules=True),
            CanonicalizePass(("sdy-reshard",)),
            ReshardToCollectivesPass(even_steps=True),
            CanonicalizePass(("sdy-collective",)),
            DropShardingRulesPass(),
        )


@dataclass(frozen=True)
class LocalPipeline(Pipeline):
    """From explicit collectives on whole tensors to the plain StableHLO program of one device."""

    name = "sdy-local-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """Shardings are of no use to the local program."""
        return (ConvertGlobalToLocalPass(), DropShardingAndMeshPass())
