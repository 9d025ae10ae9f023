"""Turn the program on whole tensors into the program that each device runs on its shards.

    before  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@m, [{"y"}]> : tensor<8xf32>
    after   %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<...>, ...}> ... : (tensor<4xf32>) -> tensor<4xf32>

Requires: explicit collectives, dims that divide. Ensures: no `sdy` op but the meshes; types are those of one shard.
Where an op has no local form the module is left half converted. Source: spec of local lowering, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.places import span_of
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.dialects.walk import pre_order
from sdy.partitioner.local.all import local_form
from sdy.partitioner.local.lowering import Lowering


@dataclass(frozen=True)
class ConvertGlobalToLocalPass(ModulePass):
    """Rewrite every op to its form on one shard."""

    name = "sdy-convert-global-to-local"

    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert functions, then the ops in them, in program order."""
        if self.replica_count > 1 and self.partition_count > 1:
            message = f"replica-count={self.replica_count} and partition-count={self.partition_count}: one must be 1"
            raise SdyError(Diagnostic("SDY-L004", message, span_of(op), hint="devices are replicas or partitions"))
        lowering = Lowering(op, counts_replicas=self.replica_count > 1)
        for inner in pre_order(op):
            if isinstance(inner, FuncOp):
                _convert_function(inner, lowering)
            elif not isinstance(inner, ModuleOp | MeshOp):
                local_form(inner)(lowering)


def _convert_function(func: FuncOp, lowering: Lowering) -> None:
    inputs = [
        lowering.local_type(value_type, argument_sharding(func, index), func)
        for index, value_type in enumerate(func.function_type.inputs)
    ]
    outputs = [
        lowering.local_type(value_type, function_result_sharding(func, index), func)
        for index, value_type in enumerate(func.function_type.outputs)
    ]
    if func.body.blocks:
        for argument in tuple(func.body.block.args):
            lowering.make_local(argument, func)
    func.function_type = FunctionType.from_lists(inputs, outputs)
