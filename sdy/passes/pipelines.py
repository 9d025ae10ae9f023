"""The pipelines: which passes run in which order, and why where it matters.

Source: spec of import and export, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.passes.canonicalize import CanonicalizePass
from sdy.passes.export.close_shardings import CloseShardingsPass
from sdy.passes.export.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.remove_sharding_groups import RemoveShardingGroupsPass
from sdy.passes.export.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.export.sharding_constraint_to_reshard import ShardingConstraintToReshardPass
from sdy.passes.export.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.import_.add_data_flow_edges import AddDataFlowEdgesPass
from sdy.passes.import_.apply_sharding_constraints import ApplyShardingConstraintsPass
from sdy.passes.import_.constant_or_scalar_splitter import ConstantOrScalarSplitterPass
from sdy.passes.import_.lift_inlined_meshes import LiftInlinedMeshesPass
from sdy.passes.import_.remove_size_one_axes import RemoveSizeOneAxesPass
from sdy.passes.import_.sharding_group_import import ShardingGroupImportPass
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
from sdy.passes.run import Pipeline
from sdy.passes.symbol_dce import SymbolDcePass

IMPORT: tuple[ModulePass, ...] = (
    SymbolDcePass(),
    LiftInlinedMeshesPass(),  # first of those that look at shardings: all others want names of meshes
    RemoveSizeOneAxesPass(),
    ConstantOrScalarSplitterPass(),
    SymbolDcePass(),
    AddDataFlowEdgesPass(),
    ApplyShardingConstraintsPass(),  # after the edges: a value that stands for an edge stays free
    ShardingGroupImportPass(),
)

CLOSE: tuple[ModulePass, ...] = (
    ConstantOrScalarMergerPass(),  # before shardings are closed: equal means equal in this too
    SinkDataFlowEdgesPass(),
    RemoveShardingGroupsPass(),
    ShardingConstraintToReshardPass(),
    UpdateNonDivisiblePass(),
    RemoveSubAxesPass(),  # asks what is open
    CloseShardingsPass(),
)

COLLECTIVES: tuple[ModulePass, ...] = (
    InsertExplicitReshardsPass(enable_full_version=True),
    CanonicalizePass(("sdy-reshard",)),  # chains of reshards collapse before each becomes collectives
    ReshardToCollectivesPass(),
    CanonicalizePass(("sdy-collective",)),
)


@dataclass(frozen=True)
class ImportPipeline(Pipeline):
    """Bring a program into the shape that propagation needs."""

    name = "sdy-import-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """As listed in `IMPORT`."""
        return IMPORT


@dataclass(frozen=True)
class ExportPipeline(Pipeline):
    """Close all shardings, and insert the reshards that they need."""

    name = "sdy-export-pipeline"

    enable_insert_explicit_collectives: bool = False
    keep_sharding_rules: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Without explicit collectives, only the reshards without which the program would not be right."""
        light = (InsertExplicitReshardsPass(), CanonicalizePass(("sdy-collective",)))
        return (
            *CLOSE,
            *(COLLECTIVES if self.enable_insert_explicit_collectives else light),
            *(() if self.keep_sharding_rules else (DropShardingRulesPass(),)),
        )


@dataclass(frozen=True)
class PropagationPipeline(Pipeline):
    """Import, propagate by user priorities, export."""

    name = "sdy-propagation-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """The rules that propagation attaches serve the export, which drops them."""
        return (*IMPORT, UserPriorityPropagatePass(keep_sharding_rules=True), *ExportPipeline().passes())


@dataclass(frozen=True)
class PartitionPipeline(Pipeline):
    """From a program with some shardings to one with explicit collectives on whole tensors."""

    name = "sdy-partition-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """As the propagation pipeline, but every reshard is explicit and done by collectives."""
        return (
            *IMPORT,
            UserPriorityPropagatePass(keep_sharding_rules=True),
            *ExportPipeline(enable_insert_explicit_collectives=True).passes(),
        )


@dataclass(frozen=True)
class LocalPipeline(Pipeline):
    """From explicit collectives on whole tensors to the plain StableHLO program of one device."""

    name = "sdy-local-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """Shardings are of no use to the local program."""
        return (ConvertGlobalToLocalPass(), DropShardingAndMeshPass())
