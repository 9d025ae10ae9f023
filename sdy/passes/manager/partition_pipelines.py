"""The pipelines from a user's program to the program of one device: the passes in order, and why in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.passes import ModulePass

from sdy.passes.export.close.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.collectives.combine_collectives import CombineCollectivesPass
from sdy.passes.export.collectives.merge_permutes import MergePermutesPass
from sdy.passes.export.layers.fold_layers import FoldLayersPass
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.export.local.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.local.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.optimize.look_up_slices import LookUpSlicesPass
from sdy.passes.export.optimize.merge_slices import MergeSlicesPass
from sdy.passes.export.optimize.optimize_communication import OptimizeCommunicationPass
from sdy.passes.export.optimize.place_pads import PlacePadsPass
from sdy.passes.export.optimize.split_transforms import SplitTransformsPass
from sdy.passes.export.reshards.hoist_reshards import HoistReshardsPass
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.reshards.plan_reshards import PlanReshardsPass
from sdy.passes.export.reshards.prepare_for_shards import PrepareForShardsPass
from sdy.passes.export.selects.resolve_selects import ResolveSelectsPass
from sdy.passes.export.single_device.resolve_single_device_sharding import ResolveSingleDeviceShardingPass
from sdy.passes.export.uneven.drop_uneven_axes import DropUnevenAxesPass
from sdy.passes.export.uneven.pad_where_cheaper import PadWhereCheaperPass
from sdy.passes.export.uneven.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.manager.pipelines import Passes, Propagation
from sdy.passes.run import Pipeline
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.passes.simplify.merge_equal_ops import MergeEqualOpsPass
from sdy.passes.simplify.remove_copies import RemoveCopiesPass

TO_SHARDS = ConvertGlobalToLocalPass(
    combine_multi_dimension_reduce_scatter=True, regroup_shards=True, keep_zero_signs=True
)


def required_reshards() -> Passes:
    """Return the passes that insert the reshards that correctness requires, and no others."""
    return InsertExplicitReshardsPass(), CanonicalizePass(("sdy-collective",)), DropShardingRulesPass()


def partitioning(
    collective_bytes: int | None = None, *, optimize_communication: bool = True, plan_reshards: bool = True
) -> Passes:
    """Return the passes from closed shardings to collectives on global tensors; repeated layers stay folded.

    The optimizer may send `collective_bytes` more bytes to save a collective; None: as many as it does by default.
    Without `plan_reshards`, reshards become collectives by the fixed schedule.
    """
    optimizer = OptimizeCommunicationPass()
    if collective_bytes is not None:
        optimizer = replace(optimizer, step_bytes=collective_bytes)
    to_collectives = (
        CanonicalizePass(),  # drops operands that no manual computation uses
        UpdateNonDivisiblePass(),
        DropUnevenAxesPass(),
        *((LookUpSlicesPass(), PlacePadsPass()) if optimize_communication else ()),
        PrepareForShardsPass(),  # right before the reshards, which use the rules that it writes
        # Without the optimizer, as XLA does: the number of tensors decides.
        InsertExplicitReshardsPass(enable_full_version=True, for_shards=True, by_count=not optimize_communication),
        CanonicalizePass(("sdy-reshard",)),
        HoistReshardsPass(),  # before the optimizer, which then sees what a loop really sends
        *((optimizer, HoistReshardsPass()) if optimize_communication else ()),
        # After the optimizer, which assumes that devices compute equal values from equal values.
        ResolveSingleDeviceShardingPass(keep_zero_signs=True, only_where_used=optimize_communication),
        # The optimizer gathers a value twice on purpose.
        PlanReshardsPass(share_equal=not optimize_communication, fixed_schedule=not plan_reshards),
        CanonicalizePass(("sdy-collective",)),
        DropShardingRulesPass(),
    )
    if not optimize_communication:
        return (FoldLayersPass(), *to_collectives)
    return (
        RemoveCopiesPass(),
        SplitTransformsPass(),
        MergeSlicesPass(),  # before uneven dims are padded or unsharded: what it merges may have some
        FoldLayersPass(),  # so that all later passes process each layer once
        MergeEqualOpsPass(),  # after folding: the first layer would compute constant values for all layers
        PadWhereCheaperPass((*to_collectives, TO_SHARDS, MergePermutesPass())),  # before uneven dims become unsharded
        *to_collectives,
    )


@dataclass(frozen=True)
class PartitionPipeline(Pipeline):
    """Propagate shardings and make all communication explicit, on global tensors."""

    name = "sdy-partition-pipeline"

    optimize_communication: bool = True
    keep_layers: bool = False  # folded layers stay functions; the local pipeline unfolds them

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes of the propagation pipeline, followed by those that insert collectives."""
        partitioner = partitioning(optimize_communication=self.optimize_communication)
        return (
            *Propagation.beyond_shardy().closed(),
            *partitioner,
            *(() if self.keep_layers else (UnfoldLayersPass(),)),
        )


_OPTIMIZE_COLLECTIVES = (
    MergePermutesPass(),
    ResolveSelectsPass(),  # after merging, which adds masks
    CombineCollectivesPass(),
)


@dataclass(frozen=True)
class LocalPipeline(Pipeline):
    """Lower explicit collectives on global tensors to the StableHLO program of one device."""

    name = "sdy-local-pipeline"

    optimize_communication: bool = True
    keep_layers: bool = False  # folded layers stay functions

    def passes(self) -> Sequence[ModulePass]:
        """Return the passes; the local program has no shardings."""
        return (
            TO_SHARDS,
            DropShardingAndMeshPass(),
            *(_OPTIMIZE_COLLECTIVES if self.optimize_communication else ()),
            *(() if self.keep_layers else (UnfoldLayersPass(),)),
        )
