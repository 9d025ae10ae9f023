"""The pipelines on programs of several meshes, with the reason where the order matters. Source: docs/spec/08, 1.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from sdy.mpmd.passes.common.absorb import AbsorbInferredFragmentsPass
from sdy.mpmd.passes.common.clean_up import (
    CopyConstantsPass,
    FragmentDcePass,
    FragmentDedupPass,
    MoveTransfersToProducerPass,
    RemoveTransferCyclesPass,
    UniquifyFunctionInputsOutputsPass,
)
from sdy.mpmd.passes.common.fold_constants import TargetIndependentOptimizationPass
from sdy.mpmd.passes.common.inline_calls import (
    CallInlinePass,
    EraseUnusedCalleeBlockArgumentsPass,
    FromUnrollToCallCounterPass,
    SinkNegligibleOpsIntoCallOpPass,
)
from sdy.mpmd.passes.common.merge_fragments import (
    MergeForwardWithBackwardPass,
    MergeInferredFragmentsPass,
    MergeUserFragmentsIntoSchedulingUnitsPass,
)
from sdy.mpmd.passes.common.merge_transfers import MergeTransfersPass
from sdy.mpmd.passes.common.rule_based_merge import RuleBasedMergePass
from sdy.mpmd.passes.common.split_fragments import SplitBwdFragmentsPass
from sdy.mpmd.passes.common.unroll_for_loops import UnrollForLoopsPass
from sdy.mpmd.passes.common.verify_fragments import SchedulingUnitsVerifierPass, VerifyStageMergingPass
from sdy.mpmd.passes.export.checks import (
    ValidateNoBackwardDepsPass,
    ValidateNoInferredFragmentsPass,
    ValidateNoParamTransfersPass,
    ValidateNoReshardsPass,
)
from sdy.mpmd.passes.export.layouts import MarkInputOutputWithLayoutsPass
from sdy.mpmd.passes.export.lower_to_fragment_calls import LowerToFragmentCallsPass
from sdy.mpmd.passes.export.memory import MarkAliasingAndDonationPass, MarkFragmentReservedMemoryPass
from sdy.mpmd.passes.export.offloading import MarkOffloadedInputOutputPass
from sdy.mpmd.passes.export.placement import (
    DelayInferredFragmentsPass,
    DelayTransfersFromCpuPass,
    SinkCreateTokenIntoFragmentsPass,
)
from sdy.mpmd.passes.import_.convert_reduce_ops import ConvertReduceOpsPass
from sdy.mpmd.passes.import_.finalize import FinalizePass
from sdy.mpmd.passes.import_.function_ends import (
    AssignUsingInputOutputConstraintsPass,
    EnforceInputOutputEquishardingPass,
    MapInputOutputToMeshPass,
)
from sdy.mpmd.passes.import_.introduce_transfers import IntroduceTransfersPass
from sdy.mpmd.passes.import_.leaves import AssignMeshFuncLeavesPass
from sdy.mpmd.passes.import_.map_names import (
    InlineNestedUserExposedOpsPass,
    MapNamedOpsToMpmdOpsPass,
    ValidateNamedOpsInMpmdFuncPass,
)
from sdy.mpmd.passes.import_.named_computations import (
    InsertNamelessCloneOfNegligibleOpsPass,
    SimplifyNamedComputationsPass,
)
from sdy.mpmd.passes.import_.populate_sets import PopulateSrcSetPass, PopulateUseSetPass
from sdy.mpmd.passes.import_.rewrite_using_analysis import RewriteUsingAnalysisPass
from sdy.mpmd.passes.import_.topology import CopyTopologyFromMainPass, GenerateSdyMeshesFromTopologyPass
from sdy.mpmd.passes.import_.validate import (
    ValidateNoAdditionalTransfersNeededPass,
    ValidateSrcSetNotEmptyPass,
)
from sdy.mpmd.passes.optimize.remat import RematFragmentPass
from sdy.mpmd.passes.optimize.schedule import PipelineSchedulerPass, RuleBasedSchedulePass
from sdy.mpmd.passes.sharding.extract_reshards import ExtractReshardsFromInterMeshTransfersPass
from sdy.mpmd.passes.sharding.to_types import (
    ConvertSdyConstantsPass,
    ConvertSdyShardingsToMpmdTypesPass,
    SimplifyProgramPass,
)
from sdy.mpmd.passes.sharding.user_shardings import EnforceUserShardingsPass, PopulateUnreducedOutShardingPass
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.export.close.close_shardings import CloseShardingsPass
from sdy.passes.export.close.constant_or_scalar_merger import ConstantOrScalarMergerPass
from sdy.passes.export.close.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.close.remove_sub_axes import RemoveSubAxesPass
from sdy.passes.export.close.sink_data_flow_edges import SinkDataFlowEdgesPass
from sdy.passes.export.uneven.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.run import Pipeline
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.passes.simplify.cse import CsePass
from sdy.passes.simplify.inline import InlinePass
from sdy.passes.simplify.symbol_dce import SymbolDcePass

Passes = tuple[ModulePass, ...]


def merge_inferred(*, on_entry_points: bool) -> Passes:
    """Return the passes that merge inferred fragments with others."""
    return (
        AbsorbInferredFragmentsPass(absorb_on_entry_point_function=on_entry_points),
        MergeInferredFragmentsPass(merge_any_consumer=True),
        MergeInferredFragmentsPass(merge_sideways=True),
    )


@dataclass(frozen=True)
class InferMeshPipeline(Pipeline):
    """Decide the mesh of every op that has none, and put it into a fragment there."""

    name = "mpmd-infer-mesh-pipeline"

    infer_transfers: bool = False
    infer_cross_mesh_reductions: bool = False
    max_clones: int = 1
    error_limit: int = 5  # -1: no limit
    constraints: str = ""

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. None of them removes dead code before the ops are placed, which relies on all uses."""
        must_be_possible = not self.infer_transfers
        constraints = (AssignUsingInputOutputConstraintsPass(self.constraints),) if self.constraints else ()
        return (
            PopulateUseSetPass(),
            PopulateSrcSetPass(),
            *constraints,
            ConvertReduceOpsPass(self.infer_cross_mesh_reductions or self.infer_transfers),
            *((ValidateSrcSetNotEmptyPass(self.error_limit),) if must_be_possible else ()),
            AssignMeshFuncLeavesPass(self.infer_transfers, self.error_limit),
            PopulateUseSetPass(),  # again, because leaves are new uses
            *((ValidateNoAdditionalTransfersNeededPass(self.error_limit),) if must_be_possible else ()),
            RewriteUsingAnalysisPass(self.max_clones),
            FinalizePass(self.infer_transfers),
        )


@dataclass(frozen=True)
class ImportPipeline(Pipeline):
    """Turn a program with named computations into fragments and transfers between meshes."""

    name = "mpmd-import-pipeline"

    name_to_mesh_assignment: str = ""
    merge_after_scheduling: bool = False
    enable_heterogeneous_meshes: bool = False
    input_assignment: str = ""
    output_assignment: str = ""
    constraints: str = ""
    absorb_on_entry_point_function: bool = False
    infer_transfers: bool = False
    infer_cross_mesh_reductions: bool = False
    split_bwd_fragments: bool = False
    verify_schedule_units: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes, from the user's program to units that a schedule can order."""
        infer = InferMeshPipeline(self.infer_transfers, self.infer_cross_mesh_reductions, constraints=self.constraints)
        merges_now = not self.merge_after_scheduling
        split = (SplitBwdFragmentsPass(), CanonicalizePass(), FragmentDcePass()) if self.split_bwd_fragments else ()
        return (
            ChloLegalizeToStablehloPass(),
            CanonicalizePass(),  # MLIR's inliner begins with it, which decides the order of constants
            InlinePass(),
            CsePass(),
            CanonicalizePass(),
            CopyTopologyFromMainPass(),
            *((GenerateSdyMeshesFromTopologyPass(),) if self.enable_heterogeneous_meshes else ()),
            UnrollForLoopsPass(),
            CanonicalizePass(),
            TargetIndependentOptimizationPass(fold_op_element_limit=0),
            FromUnrollToCallCounterPass(),
            SinkNegligibleOpsIntoCallOpPass(),
            InsertNamelessCloneOfNegligibleOpsPass(),  # before the next, which drops the results that are now unused
            SimplifyNamedComputationsPass(),  # before names become fragments: what passes through must not be tied
            MapInputOutputToMeshPass(self.input_assignment, self.output_assignment),
            InlineNestedUserExposedOpsPass(self.name_to_mesh_assignment),
            ValidateNamedOpsInMpmdFuncPass(),
            MapNamedOpsToMpmdOpsPass(self.name_to_mesh_assignment),
            IntroduceTransfersPass(),
            EraseUnusedCalleeBlockArgumentsPass(),  # inference needs a use of each argument
            infer,
            *(merge_inferred(on_entry_points=self.absorb_on_entry_point_function) if merges_now else ()),
            EnforceInputOutputEquishardingPass(self.constraints),
            FragmentDedupPass(),
            FragmentDcePass(),
            RemoveTransferCyclesPass(),
            CallInlinePass(),
            SymbolDcePass(),
            *((MergeInferredFragmentsPass(),) if merges_now else ()),
            MoveTransfersToProducerPass(),
            MergeUserFragmentsIntoSchedulingUnitsPass(),
            *((SchedulingUnitsVerifierPass(),) if self.verify_schedule_units else ()),
            *split,  # when transfers are final
        )


@dataclass(frozen=True)
class OptimizePipeline(Pipeline):
    """Order the fragments by a schedule, and merge or repeat them."""

    name = "mpmd-optimize-pipeline"

    merge_after_scheduling: bool = False
    pipeline_schedule: str = "1F1B"
    merge_rules: str = ""
    schedule_rules: str = ""
    apply_fragment_remat: bool = False
    merge_remat_fragments: bool = False
    merge_forward_with_backward: bool = False
    absorb_on_entry_point_function: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. Rules come before other merges, which change the origins by which rules find fragments."""
        is_final = not self.merge_rules  # merging by rules needs the dependencies of the schedule
        schedule: ModulePass = PipelineSchedulerPass(self.pipeline_schedule, is_final)
        if self.schedule_rules:
            schedule = RuleBasedSchedulePass(self.schedule_rules, is_final)
        late = merge_inferred(on_entry_points=self.absorb_on_entry_point_function)
        return (
            schedule,
            *((RuleBasedMergePass(self.merge_rules),) if self.merge_rules else ()),
            # After scheduling, so that repeated fragments need no place in the schedule.
            *((RematFragmentPass(self.merge_remat_fragments),) if self.apply_fragment_remat else ()),
            VerifyStageMergingPass(),
            *(late if self.merge_after_scheduling else ()),
            *((MergeForwardWithBackwardPass(),) if self.merge_forward_with_backward else ()),
        )


@dataclass(frozen=True)
class ShardingPropagationPipeline(Pipeline):
    """Propagate shardings through fragments and transfers, and write them into the types of mesh tensors."""

    name = "mpmd-sharding-propagation-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. Those of sdy close shardings, and leave constraints for the compiler of each fragment."""
        return (
            UniquifyFunctionInputsOutputsPass(use_transfer_instead_of_fragment=True),  # so that each has a sharding
            *Propagation().propagation(),
            ConstantOrScalarMergerPass(),
            SinkDataFlowEdgesPass(),
            UpdateNonDivisiblePass(),
            RemoveSubAxesPass(),
            CloseShardingsPass(),
            DropShardingRulesPass(),
            PopulateUnreducedOutShardingPass(),
            EnforceUserShardingsPass(),
            ExtractReshardsFromInterMeshTransfersPass(),
            ConvertSdyShardingsToMpmdTypesPass(),
            ConvertSdyConstantsPass(),
            TargetIndependentOptimizationPass(),
            SimplifyProgramPass(),
        )


@dataclass(frozen=True)
class ExportPipeline(Pipeline):
    """Clean up, mark and check the fragments, and turn them into functions."""

    name = "mpmd-export-pipeline"

    fail_on_reshard_only_fragments: bool = False
    fail_on_backward_deps: bool = False
    fail_on_inferred_fragments: bool = True
    fail_on_param_transfers: bool = False
    param_transfer_pattern: str = ValidateNoParamTransfersPass.param_pattern
    copy_constants_from_producer_to_consumer: bool = False
    apply_merge_transfers: bool = False
    verbose_logging: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. Marks are made on the final fragments; that of memory needs the others."""
        merged: Passes = (MergeTransfersPass(), FragmentDedupPass(), CsePass())
        return (
            CsePass(),
            *((CopyConstantsPass(),) if self.copy_constants_from_producer_to_consumer else ()),
            CanonicalizePass(),
            FragmentDedupPass(),
            *(merged if self.apply_merge_transfers else ()),
            FragmentDcePass(),
            UniquifyFunctionInputsOutputsPass(),
            MergeInferredFragmentsPass(),
            MarkOffloadedInputOutputPass(),
            MarkInputOutputWithLayoutsPass(),
            DelayInferredFragmentsPass(),
            DelayTransfersFromCpuPass(),
            SinkCreateTokenIntoFragmentsPass(),
            MarkAliasingAndDonationPass(),
            MarkFragmentReservedMemoryPass(),
            ValidateNoParamTransfersPass(self.fail_on_param_transfers, self.param_transfer_pattern),
            ValidateNoInferredFragmentsPass(self.fail_on_inferred_fragments),
            LowerToFragmentCallsPass(self.verbose_logging),
            ValidateNoReshardsPass(self.fail_on_reshard_only_fragments),
            ValidateNoBackwardDepsPass(self.fail_on_backward_deps),
        )
