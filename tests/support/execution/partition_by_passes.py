"""Partition programs with the individual passes of upstream, as `sdy-opt` would run them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.propagated import boundary_of
from sdy.dialects.module_text import make_context
from sdy.passes.export.close.barriers import erase_barriers
from sdy.passes.export.close.drop_sharding_rules import DropShardingRulesPass
from sdy.passes.export.local.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.local.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.reshards.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.export.uneven.update_non_divisible import UpdateNonDivisiblePass
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.run import run_passes
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.program.program import Program
from sdy.upstream.halo.resolve import ResolvePermutationFactorsPass
from sdy.upstream.padding import PadForDivisibilityPass
from sdy.upstream.unshard_unsupported_ops import UnshardUnsupportedOpsPass


def propagated(module: ModuleOp) -> ModuleOp:
    """Return a propagated copy of a module, with closed shardings and with its sharding rules."""
    copy = module.clone()
    passes = [*Propagation.beyond_shardy().closed(), UpdateNonDivisiblePass()]
    run_passes(make_context(), copy, passes, verify_each=False)
    return copy


def partitioned(program: Program, module: ModuleOp, *, exchanges: bool) -> Compiled:
    """Partition a propagated `module` in place and return the partitioned program.

    If `exchanges`, shards exchange halos where elements move between them; otherwise they are gathered.
    """
    global_module = module.clone()
    erase_barriers(module)  # of which returns would use another sharding than other ops
    passes = [
        InsertExplicitReshardsPass(enable_full_version=True),
        CanonicalizePass(("sdy-reshard",)),
        ResolvePermutationFactorsPass(enable_halo_exchange=exchanges),
        ReshardToCollectivesPass(),
        CanonicalizePass(("sdy-collective",)),
        DropShardingRulesPass(),
        PadForDivisibilityPass(),
        UnshardUnsupportedOpsPass(),
        ConvertGlobalToLocalPass(),
        DropShardingAndMeshPass(),
    ]
    run_passes(make_context(), module, passes)
    return Compiled(program.module, global_module, module, boundary_of(global_module), program.origin)
