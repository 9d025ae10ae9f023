"""Convert the program on global tensors to the program that each device runs on its shards.

    before  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@m, [{"y"}]> : tensor<8xf32>
    after   %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<...>, ...}> ... : (tensor<4xf32>) -> tensor<4xf32>

Requires: explicit collectives, dims that divide. Ensures: no `sdy` op except meshes; types are local.
Source: docs/spec/06, 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import MeshOp
from sdy.partitioner.local.all import check_all, local_form
from sdy.partitioner.local.lowering import Lowering
from sdy.passes.export.close.barriers import erase_barriers
from sdy.passes.rewriting.device_counts import device_style


@dataclass(frozen=True)
class ConvertGlobalToLocalPass(ModulePass):
    """Rewrite every op to its form on one shard."""

    name = "sdy-convert-global-to-local"

    per_dim_all_gather: bool = False
    combine_multi_dimension_reduce_scatter: bool = False
    enable_rgv3: bool = False
    regroup_shards: bool = False  # exchange blocks where tensors are concatenated along a sharded dim
    keep_zero_signs: bool = False  # use -0.0 as identity of sums, so that -0.0 stays -0.0
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check that every op has a local form, then convert functions and their ops in program order."""
        style = replace(
            device_style(op, self.replica_count, self.partition_count),
            names_mesh_axes=self.enable_rgv3,
            gathers_dim_by_dim=self.per_dim_all_gather,
            scatters_dims_together=self.combine_multi_dimension_reduce_scatter,
            regroups_shards=self.regroup_shards,
            keeps_zero_signs=self.keep_zero_signs,
        )
        erase_barriers(op)
        lowering = Lowering(op, style)
        every_op = [inner for inner in pre_order(op) if not isinstance(inner, ModuleOp | MeshOp)]
        check_all(every_op, lowering.checks)
        for inner, form in [(inner, local_form(inner)) for inner in every_op]:
            try:
                form(lowering)
            except SdyError as error:
                raise located(error, inner) from error
        lowering.finish()
