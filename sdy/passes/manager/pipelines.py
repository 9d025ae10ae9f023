"""The pipelines of Shardy: the passes in order, with the reason where the order matters.

Those that lower shardings to the program of one device are in `partition_pipelines`. Source: docs/spec/04, 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.passes.chlo.sharding_rules import DropChloShardingRulesPass, PopulateChloShardingRulesPass
from sdy.passes.export.calls.export_named_computations import ExportNamedComputationsPass
from sdy.passes.export.calls.insert_func_call_reshards import InsertFuncCallReshardsPass
from sdy.passes.export.calls.unflatten_call_graph import UnflattenCallGraphPass
from sdy.passes.export.close.close_shardings import CloseShardingsPass
from sdy.passes.export.close.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.close.propagate_to_func_results import PropagateToFuncResultsPass
from sdy.passes.export.close.remove_sharding_groups import RemoveShardingGroupsPass
from sdy.passes.export.close.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.close.sharding_constraint_to_reshard import ShardingConstraintToReshardPass
from sdy.passes.export.close.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.close.sink_func_data_flow_edges import SinkFuncDataFlowEdgesPass
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
from sdy.passes.import_.reshape_broadcasts import ReshapeBroadcastsPass
from sdy.passes.import_.sharding_group_import import ShardingGroupImportPass
from sdy.passes.import_.unify_meshes import UnifyMeshesPass
from sdy.passes.manager import auto_partitioner
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
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
class Propagation:
    """The passes that import a program and propagate shardings in it by user priorities.

    By default they do what Shardy does. With `through_chlo`, CHLO ops get the rules of the ops to which XLA lowers
    them; Shardy has no rules for CHLO. With `on_one_mesh`, shardings propagate between tensors on several meshes;
    Shardy propagates only within each mesh. With `explicit_batching`, dims that gathers and scatters index by their own
    positions become batching dims, which can be sharded; Shardy leaves this to its caller, and knows only the first
    dim. With `fold_pads`, windows read values that are not padded, whose dims can be sharded. With
    `reshape_broadcasts`, broadcasts that only add dims of size 1 are reshapes, as XLA makes them before it calls
    Shardy. With `until_stable`, ops are visited that Shardy misses although axes could be propagated through them.
    """

    dedup_functions_fully: bool = False
    enable_auto_partitioning: bool = False
    through_chlo: bool = False
    on_one_mesh: bool = False
    explicit_batching: bool = False
    fold_pads: bool = False
    reshape_broadcasts: bool = False
    until_stable: bool = False

    @staticmethod
    def beyond_shardy(*, dedup_functions_fully: bool = False) -> Propagation:
        """Return the passes of the commands of sdy, which propagate further than Shardy."""
        return Propagation(
            dedup_functions_fully,
            through_chlo=True,
            on_one_mesh=True,
            explicit_batching=True,
            fold_pads=True,
            reshape_broadcasts=True,
            until_stable=True,
        )

    def closed(self, propagate: ModulePass | None = None) -> Passes:
        """Return the passes from the user's program to closed shardings on every value; see `propagation`."""
        return (*self.propagation(propagate), *CLOSE)

    def before_propagation(self) -> Passes:
        """Return the passes from the user's program to the input of propagation."""
        folding = (FoldPadsPass(),) if self.fold_pads else ()
        batching = (ExplicitGatherScatterBatchingPass(all_dims=True),) if self.explicit_batching else ()
        reshaping = (ReshapeBroadcastsPass(),) if self.reshape_broadcasts else ()
        before = (*reshaping, *folding, *batching, *IMPORT, *((UnifyMeshesPass(),) if self.on_one_mesh else ()))
        rules = (PopulateChloShardingRulesPass(),) if self.through_chlo else ()
        if self.dedup_functions_fully:
            return (*before, *CONSTRAINTS, AddFuncDataFlowEdgesPass(), PreOrderFuncsPass(), *rules)
        return (*before, *CALLS_TO_COMPUTATIONS, *CONSTRAINTS, PreOrderFuncsPass(), *rules)

    def propagation(self, propagate: ModulePass | None = None) -> Passes:
        """Return the passes from the user's program to shardings on every value. Rules stay for the export.

        `propagate` is the pass that propagates, by default `sdy-user-priority-propagate`.
        """
        default = UserPriorityPropagatePass(keep_sharding_rules=True, until_stable=self.until_stable)
        back: Passes = COMPUTATIONS_TO_CALLS
        if self.dedup_functions_fully:
            back = (PropagateToFuncResultsPass(), SinkFuncDataFlowEdgesPass())
        return (
            *self.before_propagation(),
            propagate or default,
            *((DropChloShardingRulesPass(),) if self.through_chlo else ()),
            *back,
            UnflattenCallGraphPass(),
            SymbolDcePass(),
            *(auto_partitioner.passes() if self.enable_auto_partitioning else ()),
            InsertFuncCallReshardsPass(),  # after every pass that changes the shardings of functions
        )
