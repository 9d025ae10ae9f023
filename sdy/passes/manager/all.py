"""The registry of passes and pipelines by name. A class is imported when it is first requested."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

# Package of `sdy` -> pass name -> module and class in that package.
_ROOMS: dict[str, dict[str, str]] = {
    "passes.import_": {
        "sdy-add-data-flow-edges": "add_data_flow_edges.AddDataFlowEdgesPass",
        "sdy-apply-sharding-constraints": "apply_sharding_constraints.ApplyShardingConstraintsPass",
        "sdy-constant-or-scalar-splitter": "constant_or_scalar_splitter.ConstantOrScalarSplitterPass",
        "sdy-explicit-gather-scatter-batching": "explicit_gather_scatter_batching.ExplicitGatherScatterBatchingPass",
        "sdy-fold-pads": "fold_pads.FoldPadsPass",
        "sdy-import-hlo-shardings": "import_hlo_shardings.ImportHloShardingsPass",
        "sdy-lift-inlined-meshes": "lift_inlined_meshes.LiftInlinedMeshesPass",
        "sdy-remove-size-one-axes": "remove_size_one_axes.RemoveSizeOneAxesPass",
        "sdy-reshape-broadcasts": "reshape_broadcasts.ReshapeBroadcastsPass",
        "sdy-sharding-group-import": "sharding_group_import.ShardingGroupImportPass",
        "sdy-propagate-sharding-from-func-to-call": (
            "propagate_sharding_from_func_to_call.PropagateShardingFromFuncToCallPass"
        ),
        "sdy-manual-axes-cleanup": "manual_axes_cleanup.ManualAxesCleanupPass",
        "sdy-flatten-call-graph": "flatten_call_graph.FlattenCallGraphPass",
        "sdy-import-func-calls": "import_func_calls.ImportFuncCallsPass",
        "sdy-add-func-data-flow-edges": "add_func_data_flow_edges.AddFuncDataFlowEdgesPass",
        "sdy-pre-order-funcs": "pre_order_funcs.PreOrderFuncsPass",
        "sdy-unify-meshes": "unify_meshes.UnifyMeshesPass",
    },
    "passes.propagation": {
        "sdy-basic-propagate": "propagate.BasicPropagatePass",
        "sdy-aggressive-propagate": "propagate.AggressivePropagatePass",
        "sdy-op-priority-propagate": "propagate.OpPriorityPropagatePass",
        "sdy-user-priority-propagate": "propagate.UserPriorityPropagatePass",
        "sdy-populate-op-sharding-rules": "populate_rules.PopulateOpShardingRulesPass",
    },
    "passes.export.close": {
        "sdy-close-shardings": "close_shardings.CloseShardingsPass",
        "sdy-constant-or-scalar-merger": "constant_or_scalar_merger.ConstantOrScalarMergerPass",
        "sdy-drop-sharding-rules": "drop_sharding_rules.DropShardingRulesPass",
        "sdy-remove-sharding-groups": "remove_sharding_groups.RemoveShardingGroupsPass",
        "sdy-remove-sub-axes-in-input-output-shardings": "remove_sub_axes.RemoveSubAxesPass",
        "sdy-sharding-constraint-to-reshard": "sharding_constraint_to_reshard.ShardingConstraintToReshardPass",
        "sdy-sink-data-flow-edges": "sink_data_flow_edges.SinkDataFlowEdgesPass",
        "sdy-sink-func-data-flow-edges": "sink_func_data_flow_edges.SinkFuncDataFlowEdgesPass",
        "sdy-propagate-to-func-results": "propagate_to_func_results.PropagateToFuncResultsPass",
    },
    "passes.export.calls": {
        "sdy-export-named-computations": "export_named_computations.ExportNamedComputationsPass",
        "sdy-unflatten-call-graph": "unflatten_call_graph.UnflattenCallGraphPass",
        "sdy-insert-func-call-reshards": "insert_func_call_reshards.InsertFuncCallReshardsPass",
    },
    "passes.export.layers": {
        "sdy-fold-layers": "fold_layers.FoldLayersPass",
        "sdy-unfold-layers": "unfold_layers.UnfoldLayersPass",
    },
    "passes.export.uneven": {
        "sdy-align-windows": "align_windows.AlignWindowsPass",
        "sdy-pad-where-cheaper": "pad_where_cheaper.PadWhereCheaperPass",
        "sdy-pad-uneven-dims": "pad_uneven_dims.PadUnevenDimsPass",
        "sdy-drop-uneven-axes": "drop_uneven_axes.DropUnevenAxesPass",
        "sdy-update-non-divisible-input-output-shardings": "update_non_divisible.UpdateNonDivisiblePass",
    },
    "passes.export.reshards": {
        "sdy-hoist-reshards": "hoist_reshards.HoistReshardsPass",
        "sdy-insert-explicit-reshards": "insert_explicit_reshards.InsertExplicitReshardsPass",
        "sdy-plan-reshards": "plan_reshards.PlanReshardsPass",
        "sdy-prepare-for-shards": "prepare_for_shards.PrepareForShardsPass",
        "sdy-reshard-to-collectives": "reshard_to_collectives.ReshardToCollectivesPass",
    },
    "passes.export.optimize": {
        "sdy-look-up-slices": "look_up_slices.LookUpSlicesPass",
        "sdy-merge-slices": "merge_slices.MergeSlicesPass",
        "sdy-optimize-communication": "optimize_communication.OptimizeCommunicationPass",
        "sdy-place-pads": "place_pads.PlacePadsPass",
        "sdy-split-transforms": "split_transforms.SplitTransformsPass",
    },
    "passes.export.collectives": {
        "sdy-merge-permutes": "merge_permutes.MergePermutesPass",
        "sdy-combine-collectives": "combine_collectives.CombineCollectivesPass",
    },
    "passes.export.local": {
        "sdy-convert-global-to-local": "convert_global_to_local.ConvertGlobalToLocalPass",
        "sdy-drop-sharding-and-mesh": "drop_sharding_and_mesh.DropShardingAndMeshPass",
    },
    "passes.export.selects": {
        "sdy-resolve-selects": "resolve_selects.ResolveSelectsPass",
    },
    "passes.export.single_device": {
        "sdy-resolve-single-device-sharding": "resolve_single_device_sharding.ResolveSingleDeviceShardingPass",
    },
    "passes.simplify": {
        "canonicalize": "canonicalize.CanonicalizePass",
        "inline": "inline.InlinePass",
        "strip-debuginfo": "strip_debuginfo.StripDebugInfoPass",
        "symbol-dce": "symbol_dce.SymbolDcePass",
        "cse": "cse.CsePass",
        "sdy-merge-equal-ops": "merge_equal_ops.MergeEqualOpsPass",
        "sdy-remove-copies": "remove_copies.RemoveCopiesPass",
        "stablehlo-legalize-composite-to-call": "composite_to_call.CompositeToCallPass",
    },
    "passes.chlo": {
        "chlo-legalize-to-stablehlo": "legalize.ChloLegalizeToStablehloPass",
        "sdy-populate-chlo-sharding-rules": "sharding_rules.PopulateChloShardingRulesPass",
        "sdy-drop-chlo-sharding-rules": "sharding_rules.DropChloShardingRulesPass",
    },
    "upstream": {
        "sdy-inline-meshes": "inline_meshes.InlineMeshesPass",
        "sdy-remove-propagation-debug-info": "remove_propagation_debug_info.RemovePropagationDebugInfoPass",
        "sdy-resolve-permutation-factors": "halo.resolve.ResolvePermutationFactorsPass",
        "sdy-pad-for-divisibility": "padding.PadForDivisibilityPass",
        "sdy-verify-unreduced-axes": "verify_unreduced_axes.VerifyUnreducedAxesPass",
        "sdy-remove-all-gather-reduce-scatter-for-cmv1": "remove_for_cmv1.RemoveForCmv1Pass",
        "sdy-unshard-unsupported-ops": "unshard_unsupported_ops.UnshardUnsupportedOpsPass",
        "sdy-import-pipeline": "pipelines.ImportPipeline",
        "sdy-propagation-pipeline": "pipelines.PropagationPipeline",
        "sdy-export-pipeline": "pipelines.ExportPipeline",
        "sdy-per-instruction-partitioning": "per_instruction_partitioning.PerInstructionPartitioningPass",
    },
    "mpmd.passes.import_": {
        "mpmd-copy-topology-from-main": "topology.CopyTopologyFromMainPass",
        "mpmd-enforce-input-output-equisharding": "function_ends.EnforceInputOutputEquishardingPass",
        "mpmd-generate-sdy-meshes-from-topology": "topology.GenerateSdyMeshesFromTopologyPass",
        "mpmd-infer-mesh-assign-mesh-func-leaves": "leaves.AssignMeshFuncLeavesPass",
        "mpmd-infer-mesh-assign-using-input-output-constraints": (
            "function_ends.AssignUsingInputOutputConstraintsPass"
        ),
        "mpmd-infer-mesh-convert-reduce-ops": "convert_reduce_ops.ConvertReduceOpsPass",
        "mpmd-infer-mesh-finalize": "transfers.FinalizePass",
        "mpmd-infer-mesh-populate-src-set": "populate_sets.PopulateSrcSetPass",
        "mpmd-infer-mesh-populate-use-set": "populate_sets.PopulateUseSetPass",
        "mpmd-infer-mesh-rewrite-using-analysis": "rewrite_using_analysis.RewriteUsingAnalysisPass",
        "mpmd-infer-mesh-validate-no-additional-transfers-needed": "validate.ValidateNoAdditionalTransfersNeededPass",
        "mpmd-infer-mesh-validate-src-set-not-empty": "validate.ValidateSrcSetNotEmptyPass",
        "mpmd-inline-nested-user-exposed-ops": "map_names.InlineNestedUserExposedOpsPass",
        "mpmd-insert-nameless-clone-of-negligible-ops": "map_names.InsertNamelessCloneOfNegligibleOpsPass",
        "mpmd-introduce-transfers": "transfers.IntroduceTransfersPass",
        "mpmd-map-input-output-to-mesh": "function_ends.MapInputOutputToMeshPass",
        "mpmd-map-named-ops-to-mpmd-ops": "map_names.MapNamedOpsToMpmdOpsPass",
        "mpmd-simplify-named-computations": "map_names.SimplifyNamedComputationsPass",
        "mpmd-validate-named-ops-in-mpmd-func": "map_names.ValidateNamedOpsInMpmdFuncPass",
    },
    "mpmd.passes.common": {
        "stablehlo-target-independent-optimization": "fold_constants.TargetIndependentOptimizationPass",
        "mpmd-absorb-inferred-fragments": "merge_fragments.AbsorbInferredFragmentsPass",
        "mpmd-call-inline": "microbatches.CallInlinePass",
        "mpmd-copy-constants": "clean_up.CopyConstantsPass",
        "mpmd-erase-unused-callee-block-arguments": "microbatches.EraseUnusedCalleeBlockArgumentsPass",
        "mpmd-fragment-dce": "clean_up.FragmentDcePass",
        "mpmd-fragment-dedup": "clean_up.FragmentDedupPass",
        "mpmd-from-unroll-to-call-counter": "microbatches.FromUnrollToCallCounterPass",
        "mpmd-merge-forward-with-backward": "merge_fragments.MergeForwardWithBackwardPass",
        "mpmd-merge-inferred-fragments": "merge_fragments.MergeInferredFragmentsPass",
        "mpmd-merge-transfers": "merge_transfers.MergeTransfersPass",
        "mpmd-merge-user-fragments-into-scheduling-units": (
            "merge_fragments.MergeUserFragmentsIntoSchedulingUnitsPass"
        ),
        "mpmd-move-transfers-to-producer": "clean_up.MoveTransfersToProducerPass",
        "mpmd-remove-transfer-cycles": "clean_up.RemoveTransferCyclesPass",
        "mpmd-rule-based-merge": "merge_fragments.RuleBasedMergePass",
        "mpmd-sink-negligible-ops-into-call-op": "microbatches.SinkNegligibleOpsIntoCallOpPass",
        "mpmd-split-and-prioritize-transfer-independent-computations": (
            "split_fragments.SplitAndPrioritizeTransferIndependentComputationsPass"
        ),
        "mpmd-split-bwd-fragments": "split_fragments.SplitBwdFragmentsPass",
        "mpmd-uniquify-function-inputs-outputs": "clean_up.UniquifyFunctionInputsOutputsPass",
        "mpmd-unroll-for-loops": "microbatches.UnrollForLoopsPass",
    },
    "mpmd.passes.sharding": {
        "mpmd-convert-sdy-constants": "to_types.ConvertSdyConstantsPass",
        "mpmd-convert-sdy-shardings-to-mpmd-types": "to_types.ConvertSdyShardingsToMpmdTypesPass",
        "mpmd-enforce-user-shardings": "user_shardings.EnforceUserShardingsPass",
        "mpmd-extract-reshards-from-inter-mesh-transfers": (
            "extract_reshards.ExtractReshardsFromInterMeshTransfersPass"
        ),
        "mpmd-populate-unreduced-out-sharding": "user_shardings.PopulateUnreducedOutShardingPass",
        "mpmd-simplify-program": "to_types.SimplifyProgramPass",
    },
    "mpmd.passes.export": {
        "mpmd-delay-inferred-fragments": "placement.DelayInferredFragmentsPass",
        "mpmd-delay-transfers-from-cpu": "placement.DelayTransfersFromCpuPass",
        "mpmd-lower-to-fragment-calls": "lower_to_fragment_calls.LowerToFragmentCallsPass",
        "mpmd-mark-aliasing-and-donation": "memory.MarkAliasingAndDonationPass",
        "mpmd-mark-fragment-reserved-memory": "memory.MarkFragmentReservedMemoryPass",
        "mpmd-mark-input-output-with-layouts": "memory.MarkInputOutputWithLayoutsPass",
        "mpmd-mark-offloaded-input-output": "offloading.MarkOffloadedInputOutputPass",
        "mpmd-sink-create-token-into-fragments": "placement.SinkCreateTokenIntoFragmentsPass",
        "mpmd-scheduling-units-verifier": "checks.SchedulingUnitsVerifierPass",
        "mpmd-validate-no-backward-deps": "checks.ValidateNoBackwardDepsPass",
        "mpmd-validate-no-inferred-fragments": "checks.ValidateNoInferredFragmentsPass",
        "mpmd-validate-no-param-transfers": "checks.ValidateNoParamTransfersPass",
        "mpmd-validate-no-reshards": "checks.ValidateNoReshardsPass",
        "mpmd-verify-stage-merging": "checks.VerifyStageMergingPass",
    },
    "mpmd.passes": {
        "mpmd-export-pipeline": "pipelines.ExportPipeline",
        "mpmd-import-pipeline": "pipelines.ImportPipeline",
        "mpmd-infer-mesh-pipeline": "pipelines.InferMeshPipeline",
        "mpmd-optimize-pipeline": "pipelines.OptimizePipeline",
        "mpmd-pipeline-scheduler": "schedule.PipelineSchedulerPass",
        "mpmd-remat-fragment": "schedule.RematFragmentPass",
        "mpmd-rule-based-schedule": "schedule.RuleBasedSchedulePass",
        "mpmd-sharding-propagation-pipeline": "pipelines.ShardingPropagationPipeline",
    },
    "passes.save_module": {"sdy-save-module": "SaveModulePass"},
    "passes.manager": {
        "sdy-partition-pipeline": "partition_pipelines.PartitionPipeline",
        "sdy-local-pipeline": "partition_pipelines.LocalPipeline",
    },
}
PASSES = {name: f"{room}.{path}" for room, passes in _ROOMS.items() for name, path in passes.items()}

added_passes: dict[str, type[ModulePass]] = {}  # those of users, by name


def pass_names() -> list[str]:
    """Return the names of all passes, sorted."""
    return sorted((*PASSES, *added_passes))


def add_pass(kind: type[ModulePass]) -> None:
    """Register a pass for command lines and pipelines. Raises: ValueError if its name is taken."""
    if kind.name in PASSES or kind.name in added_passes:
        raise ValueError(f"a pass called {kind.name} is already registered")
    added_passes[kind.name] = kind


def pass_class(name: str) -> type[ModulePass]:
    """Return the class of a pass.

    Raises: SdyError SDY-T003 if no pass has this name.
    """
    if name in added_passes:
        return added_passes[name]
    path = PASSES.get(name)
    if path is None:
        raise SdyError(
            Diagnostic(
                "SDY-T003",
                f"unknown pass {name}",
                hint=similar_name_hint(name, pass_names()) or "see sdy-opt --list-passes",
            )
        )
    module, _, class_name = path.rpartition(".")
    return cast("type[ModulePass]", getattr(import_module(f"sdy.{module}"), class_name))
