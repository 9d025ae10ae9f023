"""The pipelines on programs of several meshes, with the reason where the order matters. Source: docs/spec/08, 1.3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.passes import ModulePass

from sdy.passes.manager.all import pass_class
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.run import Pipeline

Passes = tuple[ModulePass, ...]


def _pass(name: str, *, when: object = True, **options: object) -> Passes:
    """Return a pass with options, or nothing unless `when` is true. It is imported when its pipeline is built."""
    return (cast("Callable[..., ModulePass]", pass_class(name))(**options),) if when else ()


def _passes(*names: str) -> Passes:
    """Return passes without options."""
    return tuple(each for name in names for each in _pass(name))


def merge_inferred(*, on_entry_points: bool) -> Passes:
    """Return the passes that merge inferred fragments with others."""
    return (
        *_pass("mpmd-absorb-inferred-fragments", absorb_on_entry_point_function=on_entry_points),
        *_pass("mpmd-merge-inferred-fragments", merge_any_consumer=True),
        *_pass("mpmd-merge-inferred-fragments", merge_sideways=True),
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
        infers, limit = self.infer_transfers, self.error_limit
        reduces = self.infer_cross_mesh_reductions or infers
        name = "mpmd-infer-mesh"
        return (
            *_passes(f"{name}-populate-use-set", f"{name}-populate-src-set"),
            *_pass(
                f"{name}-assign-using-input-output-constraints", when=self.constraints, constraints=self.constraints
            ),
            *_pass(f"{name}-convert-reduce-ops", infer_cross_mesh_reductions=reduces),
            *_pass(f"{name}-validate-src-set-not-empty", when=not infers, error_limit=limit),
            *_pass(f"{name}-assign-mesh-func-leaves", infer_transfers=infers, error_limit=limit),
            *_passes(f"{name}-populate-use-set"),  # again, because leaves are new uses
            *_pass(f"{name}-validate-no-additional-transfers-needed", when=not infers, error_limit=limit),
            *_pass(f"{name}-rewrite-using-analysis", max_clones=self.max_clones),
            *_pass(f"{name}-finalize", infer_transfers=infers),
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
        assignment = self.name_to_mesh_assignment
        merges_now = not self.merge_after_scheduling
        split = _passes("mpmd-split-bwd-fragments", "canonicalize", "mpmd-fragment-dce")
        return (
            *_passes(
                "chlo-legalize-to-stablehlo",
                "canonicalize",  # MLIR's inliner begins with it, which decides the order of constants
                "inline",
                "cse",
                "canonicalize",
                "mpmd-copy-topology-from-main",
            ),
            *_pass("mpmd-generate-sdy-meshes-from-topology", when=self.enable_heterogeneous_meshes),
            *_passes("mpmd-unroll-for-loops", "canonicalize"),
            *_pass("stablehlo-target-independent-optimization", fold_op_element_limit=0),
            *_passes(
                "mpmd-from-unroll-to-call-counter",
                "mpmd-sink-negligible-ops-into-call-op",
                "mpmd-insert-nameless-clone-of-negligible-ops",  # the next drops the results that are now unused
                "mpmd-simplify-named-computations",  # before names become fragments: what passes through stays free
            ),
            *_pass(
                "mpmd-map-input-output-to-mesh",
                input_assignment=self.input_assignment,
                output_assignment=self.output_assignment,
            ),
            *_pass("mpmd-inline-nested-user-exposed-ops", assignment=assignment),
            *_passes("mpmd-validate-named-ops-in-mpmd-func"),
            *_pass("mpmd-map-named-ops-to-mpmd-ops", assignment=assignment),
            # Inference needs a use of each argument.
            *_passes("mpmd-introduce-transfers", "mpmd-erase-unused-callee-block-arguments"),
            infer,
            *(merge_inferred(on_entry_points=self.absorb_on_entry_point_function) if merges_now else ()),
            *_pass("mpmd-enforce-input-output-equisharding", constraints=self.constraints),
            *_passes("mpmd-fragment-dedup", "mpmd-fragment-dce", "mpmd-remove-transfer-cycles"),
            *_passes("mpmd-call-inline", "symbol-dce"),
            *_pass("mpmd-merge-inferred-fragments", when=merges_now),
            *_passes("mpmd-move-transfers-to-producer", "mpmd-merge-user-fragments-into-scheduling-units"),
            *_pass("mpmd-scheduling-units-verifier", when=self.verify_schedule_units),
            *(split if self.split_bwd_fragments else ()),  # when transfers are final
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
        final = {"remove_control_dependencies": not self.merge_rules}  # which merging by rules needs
        late = merge_inferred(on_entry_points=self.absorb_on_entry_point_function)
        rules = self.schedule_rules
        return (
            *_pass("mpmd-rule-based-schedule", when=rules, rules=rules, **final),
            *_pass("mpmd-pipeline-scheduler", when=not rules, must_happen_before=self.pipeline_schedule, **final),
            *_pass("mpmd-rule-based-merge", when=self.merge_rules, rules=self.merge_rules),
            # After scheduling, so that repeated fragments need no place in the schedule.
            *_pass(
                "mpmd-remat-fragment", when=self.apply_fragment_remat, merge_remat_fragments=self.merge_remat_fragments
            ),
            *_passes("mpmd-verify-stage-merging"),
            *(late if self.merge_after_scheduling else ()),
            *_pass("mpmd-merge-forward-with-backward", when=self.merge_forward_with_backward),
        )


@dataclass(frozen=True)
class ShardingPropagationPipeline(Pipeline):
    """Propagate shardings through fragments and transfers, and write them into the types of mesh tensors."""

    name = "mpmd-sharding-propagation-pipeline"

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. Those of sdy close shardings, and leave constraints for the compiler of each fragment."""
        return (
            # So that each result of a function has a sharding of its own.
            *_pass("mpmd-uniquify-function-inputs-outputs", use_transfer_instead_of_fragment=True),
            *Propagation().propagation(),
            *_passes(
                "sdy-constant-or-scalar-merger",
                "sdy-sink-data-flow-edges",
                "sdy-update-non-divisible-input-output-shardings",
                "sdy-remove-sub-axes-in-input-output-shardings",
                "sdy-close-shardings",
                "sdy-drop-sharding-rules",
                "mpmd-populate-unreduced-out-sharding",
                "mpmd-enforce-user-shardings",
                "mpmd-extract-reshards-from-inter-mesh-transfers",
                "mpmd-convert-sdy-shardings-to-mpmd-types",
                "mpmd-convert-sdy-constants",
                "stablehlo-target-independent-optimization",
                "mpmd-simplify-program",
            ),
        )


@dataclass(frozen=True)
class ExportPipeline(Pipeline):
    """Clean up, mark and check the fragments, and turn them into functions."""

    name = "mpmd-export-pipeline"

    fail_on_reshard_only_fragments: bool = False
    fail_on_backward_deps: bool = False
    fail_on_inferred_fragments: bool = True
    fail_on_param_transfers: bool = False
    param_transfer_pattern: str = "params['transformer"
    copy_constants_from_producer_to_consumer: bool = False
    apply_merge_transfers: bool = False
    verbose_logging: bool = False

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes. Marks are made on the final fragments; that of memory needs the others."""
        merge_transfers = _passes("mpmd-merge-transfers", "mpmd-fragment-dedup", "cse")
        return (
            *_passes("cse"),
            *_pass("mpmd-copy-constants", when=self.copy_constants_from_producer_to_consumer),
            *_passes("canonicalize", "mpmd-fragment-dedup"),
            *(merge_transfers if self.apply_merge_transfers else ()),
            *_passes(
                "mpmd-fragment-dce",
                "mpmd-uniquify-function-inputs-outputs",
                "mpmd-merge-inferred-fragments",
                "mpmd-mark-offloaded-input-output",
                "mpmd-mark-input-output-with-layouts",
                "mpmd-delay-inferred-fragments",
                "mpmd-delay-transfers-from-cpu",
                "mpmd-sink-create-token-into-fragments",
                "mpmd-mark-aliasing-and-donation",
                "mpmd-mark-fragment-reserved-memory",
            ),
            *_pass(
                "mpmd-validate-no-param-transfers",
                fail_on_param_transfers=self.fail_on_param_transfers,
                param_pattern=self.param_transfer_pattern,
            ),
            *_pass("mpmd-validate-no-inferred-fragments", fail_on_inferred_fragments=self.fail_on_inferred_fragments),
            *_pass("mpmd-lower-to-fragment-calls", verbose_logging=self.verbose_logging),
            *_pass("mpmd-validate-no-reshards", fail_on_reshard_only_fragments=self.fail_on_reshard_only_fragments),
            *_pass("mpmd-validate-no-backward-deps", fail_on_backward_deps=self.fail_on_backward_deps),
        )
