"""Programs partitioned by upstream's passes one by one, as `sdy-opt` would run them, and run on all devices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.module_text import make_context
from sdy.dialects.verify import verify_module
from sdy.interpreter.element_types import Array
from sdy.interpreter.grid import grid_of_mesh
from sdy.interpreter.shards import shard, unshard
from sdy.interpreter.spmd import run_spmd
from sdy.passes.canonicalize import CanonicalizePass
from sdy.passes.export.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.pad_for_divisibility import PadForDivisibilityPass
from sdy.passes.export.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.export.resolve_permutation_factors import ResolvePermutationFactorsPass
from sdy.passes.pipelines import CLOSE, propagation
from sdy.passes.run import run_passes
from sdy.program.placement import boundary_of


def propagated(module: ModuleOp) -> ModuleOp:
    """A copy of a module, propagated, with closed shardings; rules stay."""
    copy = module.clone()
    run_passes(make_context(), copy, [*propagation(), *CLOSE], verify_each=False)
    return copy


def run_on_all_devices(module: ModuleOp, inputs: Sequence[Array], *, exchanges: bool) -> list[Array]:
    """The results of a propagated module, which becomes the program that each device ran.

    Where elements move between shards, the shards exchange halos, or gather what moves.
    """
    boundary = boundary_of(module)
    passes = [
        InsertExplicitReshardsPass(enable_full_version=True),
        CanonicalizePass(("sdy-reshard",)),
        ResolvePermutationFactorsPass(enable_halo_exchange=exchanges),
        ReshardToCollectivesPass(),
        CanonicalizePass(("sdy-collective",)),
        DropShardingRulesPass(),
        PadForDivisibilityPass(),
        ConvertGlobalToLocalPass(),
        DropShardingAndMeshPass(),
    ]
    context = make_context()
    run_passes(context, module, passes[:-1], verify_each=False)
    verify_module(module)  # with the local types, on which all that the passes did shows
    run_passes(context, module, passes[-1:])
    shards = [shard(array, place.sharding, place.mesh) for array, place in zip(inputs, boundary.arguments, strict=True)]
    results = run_spmd(module, shards, grid_of_mesh(boundary.mesh))
    places = zip(results, boundary.results, strict=True)
    return [unshard(result, place.sharding, place.mesh, place.shape) for result, place in places]
