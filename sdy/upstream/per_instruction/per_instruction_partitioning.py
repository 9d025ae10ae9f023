"""Partition selected instructions one at a time, each in its own manual computation.

    before  %0 = stablehlo.add %a, %b {[{"x"}]} : tensor<8xf32>
    after   %0 = sdy.manual_computation(%a, %b) ... manual_axes={"x"} (%c: tensor<4xf32>, %d: tensor<4xf32>) {
              %1 = stablehlo.add %c, %d : tensor<4xf32>  ...

Requires: explicit reshards. Ensures: the instructions that the filter selects run on shards.
Source: docs/spec/06, 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import (
    DataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.passes.rewriting.device_counts import device_style
from sdy.upstream.per_instruction.instruction_filter import parse_filter
from sdy.upstream.per_instruction.outlined_instruction import InstructionPartitioner

# Ops that are not partitioned: communication, and ops that only describe shardings.
NO_INSTRUCTIONS = (
    CollectiveOp,
    DataFlowEdgeOp,
    ManualComputationOp,
    MeshOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
SHARDING_TARGETS = frozenset({"Sharding", "mhlo.sharding"})


@dataclass(frozen=True)
class PerInstructionPartitioningPass(ModulePass):
    """Partition the instructions that the filter selects; an empty filter selects all."""

    name = "sdy-per-instruction-partitioning"

    filter: str = ""
    enable_halo_exchange: bool = True
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Number all instructions of the module, then partition the selected ones."""
        style = device_style(op, self.replica_count, self.partition_count)
        chosen = parse_filter(self.filter)
        numbered = enumerate(_instructions(op))
        selected = [each for number, each in numbered if chosen.selects(number, each.name)]
        partitioner = InstructionPartitioner(
            ctx, op, style, self.enable_halo_exchange, (self.replica_count, self.partition_count)
        )
        for each in selected:
            partitioner.partition(each)


def _instructions(module: ModuleOp) -> list[Operation]:
    """Return the partitionable ops at the top level of functions, in order."""
    ops = [op for func in functions_of(module).values() for block in func.body.blocks for op in block.ops]
    return [op for op in ops if _is_instruction(op)]


def _is_instruction(op: Operation) -> bool:
    if isinstance(op, NO_INSTRUCTIONS) or op.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    if isinstance(op, CustomCallOp) and op.call_target_name.data in SHARDING_TARGETS:
        return False
    shardings = (sharding_of(value) for value in (*op.operands, *op.results))
    return any(sharding is not None and not sharding.has_no_axes for sharding in shardings)
