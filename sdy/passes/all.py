"""Every pass and pipeline by its name. A class is imported when somebody asks for it."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

_PACKAGE = "sdy.passes"

# The places are relative to the package.
PASSES: dict[str, str] = {
    "canonicalize": "canonicalize.CanonicalizePass",
    "inline": "inline.InlinePass",
    "sdy-inline-meshes": "inline_meshes.InlineMeshesPass",
    "symbol-dce": "symbol_dce.SymbolDcePass",
    "chlo-legalize-to-stablehlo": "chlo.legalize.ChloLegalizeToStablehloPass",
    "cse": "cse.CsePass",
    "stablehlo-legalize-composite-to-call": "composite_to_call.CompositeToCallPass",
    "sdy-add-data-flow-edges": "import_.add_data_flow_edges.AddDataFlowEdgesPass",
    "sdy-apply-sharding-constraints": "import_.apply_sharding_constraints.ApplyShardingConstraintsPass",
    "sdy-constant-or-scalar-splitter": "import_.constant_or_scalar_splitter.ConstantOrScalarSplitterPass",
    "sdy-explicit-gather-scatter-batching": (
        "import_.explicit_gather_scatter_batching.ExplicitGatherScatterBatchingPass"
    ),
    "sdy-lift-inlined-meshes": "import_.lift_inlined_meshes.LiftInlinedMeshesPass",
    "sdy-remove-size-one-axes": "import_.remove_size_one_axes.RemoveSizeOneAxesPass",
    "sdy-sharding-group-import": "import_.sharding_group_import.ShardingGroupImportPass",
    "sdy-basic-propagate": "propagation.propagate.BasicPropagatePass",
    "sdy-aggressive-propagate": "propagation.propagate.AggressivePropagatePass",
    "sdy-op-priority-propagate": "propagation.propagate.OpPriorityPropagatePass",
    "sdy-user-priority-propagate": "propagation.propagate.UserPriorityPropagatePass",
    "sdy-populate-op-sharding-rules": "propagation.populate_rules.PopulateOpShardingRulesPass",
    "sdy-close-shardings": "export.close_shardings.CloseShardingsPass",
    "sdy-constant-or-scalar-merger": "export.constant_or_scalar_merger.ConstantOrScalarMergerPass",
    "sdy-convert-global-to-local": "export.convert_global_to_local.ConvertGlobalToLocalPass",
    "sdy-drop-sharding-and-mesh": "export.drop_sharding_and_mesh.DropShardingAndMeshPass",
    "sdy-drop-sharding-rules": "export.drop_sharding_rules.DropShardingRulesPass",
    "sdy-insert-explicit-reshards": "export.insert_explicit_reshards.InsertExplicitReshardsPass",
    "sdy-remove-propagation-debug-info": "export.remove_propagation_debug_info.RemovePropagationDebugInfoPass",
    "sdy-remove-sharding-groups": "export.remove_sharding_groups.RemoveShardingGroupsPass",
    "sdy-remove-sub-axes-in-input-output-shardings": "export.remove_sub_axes.RemoveSubAxesPass",
    "sdy-pad-uneven-dims": "export.pad_uneven_dims.PadUnevenDimsPass",
    "sdy-drop-uneven-axes": "export.drop_uneven_axes.DropUnevenAxesPass",
    "sdy-plan-reshards": "export.plan_reshards.PlanReshardsPass",
    "sdy-prepare-for-shards": "export.prepare_for_shards.PrepareForShardsPass",
    "sdy-fold-layers": "export.fold_layers.FoldLayersPass",
    "sdy-unfold-layers": "export.unfold_layers.UnfoldLayersPass",
    "sdy-fuse-permutes": "export.fuse_permutes.FusePermutesPass",
    "sdy-combine-collectives": "export.combine_collectives.CombineCollectivesPass",
    "sdy-optimize-communication": "export.optimize_communication.OptimizeCommunicationPass",
    "sdy-reshard-to-collectives": "export.reshard_to_collectives.ReshardToCollectivesPass",
    "sdy-sharding-constraint-to-reshard": "export.sharding_constraint_to_reshard.ShardingConstraintToReshardPass",
    "sdy-sink-data-flow-edges": "export.sink_data_flow_edges.SinkDataFlowEdgesPass",
    "sdy-update-non-divisible-input-output-shardings": "export.update_non_divisible.UpdateNonDivisiblePass",
    "sdy-propagate-sharding-from-func-to-call": (
        "import_.propagate_sharding_from_func_to_call.PropagateShardingFromFuncToCallPass"
    ),
    "sdy-manual-axes-cleanup": "import_.manual_axes_cleanup.ManualAxesCleanupPass",
    "sdy-flatten-call-graph": "import_.flatten_call_graph.FlattenCallGraphPass",
    "sdy-import-func-calls": "import_.import_func_calls.ImportFuncCallsPass",
    "sdy-add-func-data-flow-edges": "import_.add_func_data_flow_edges.AddFuncDataFlowEdgesPass",
    "sdy-pre-order-funcs": "import_.pre_order_funcs.PreOrderFuncsPass",
    "sdy-sink-func-data-flow-edges": "export.sink_func_data_flow_edges.SinkFuncDataFlowEdgesPass",
    "sdy-export-named-computations": "export.export_named_computations.ExportNamedComputationsPass",
    "sdy-propagate-to-func-results": "export.propagate_to_func_results.PropagateToFuncResultsPass",
    "sdy-unflatten-call-graph": "export.unflatten_call_graph.UnflattenCallGraphPass",
    "sdy-insert-func-call-reshards": "export.insert_func_call_reshards.InsertFuncCallReshardsPass",
    "sdy-resolve-permutation-factors": "export.resolve_permutation_factors.ResolvePermutationFactorsPass",
    "sdy-pad-for-divisibility": "export.pad_for_divisibility.PadForDivisibilityPass",
    "sdy-resolve-single-device-sharding": "export.resolve_single_device_sharding.ResolveSingleDeviceShardingPass",
    "sdy-per-instruction-partitioning": "export.per_instruction_partitioning.PerInstructionPartitioningPass",
    "sdy-verify-unreduced-axes": "export.verify_unreduced_axes.VerifyUnreducedAxesPass",
    "sdy-remove-all-gather-reduce-scatter-for-cmv1": "export.remove_for_cmv1.RemoveForCmv1Pass",
    "sdy-import-pipeline": "pipelines.ImportPipeline",
    "sdy-propagation-pipeline": "pipelines.PropagationPipeline",
    "sdy-export-pipeline": "pipelines.ExportPipeline",
    "sdy-partition-pipeline": "pipelines.PartitionPipeline",
    "sdy-local-pipeline": "pipelines.LocalPipeline",
}


_added: dict[str, type[ModulePass]] = {}


def pass_names() -> list[str]:
    """The names of all passes, sorted."""
    return sorted((*PASSES, *_added))


def add_pass(kind: type[ModulePass]) -> None:
    """Let command lines and pipelines name a further pass. Raises: ValueError where there is one of that name."""
    if kind.name in PASSES or kind.name in _added:
        raise ValueError(f"there is a pass called {kind.name} already")
    _added[kind.name] = kind


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass.

    Raises: SdyError SDY-T003 where there is none of that name.
    """
    if name in _added:
        return _added[name]
    path = PASSES.get(name)
    if path is None:
        close = difflib.get_close_matches(name, pass_names(), n=1)
        hint = f"did you mean {close[0]}?" if close else None
        raise SdyError(Diagnostic("SDY-T003", f"no pass is called {name}", hint=hint))
    module, _, class_name = path.rpartition(".")
    return cast("type[ModulePass]", getattr(import_module(f"{_PACKAGE}.{module}"), class_name))
