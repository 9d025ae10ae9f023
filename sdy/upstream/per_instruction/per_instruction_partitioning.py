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


_LOW, _HIGH = "selectLow=", "selectHigh="


@dataclass(frozen=True, slots=True)
class InstructionFilter:
    """Selects instructions `low` to `high`, inclusive, whose name contains one of `names`; None and () do not limit."""

    low: int | None = None
    high: int | None = None
    names: tuple[str, ...] = ()

    def selects(self, number: int, name: str) -> bool:
        """Return whether to partition the instruction with this index, counted from 0.

        >>> parse_filter("dot, selectHigh=3").selects(2, "stablehlo.dot_general")
        True
        """
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return False
        return not self.names or any(part in name for part in self.names)


def parse_filter(text: str) -> InstructionFilter:
    """Parse a filter such as `dot, selectLow=3`, optionally quoted; a negative or invalid number does not limit.

    Source: docs/spec/06, 5.2.
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    low: int | None = None
    high: int | None = None
    names: list[str] = []
    for token in filter(None, map(str.strip, text.split(","))):
        if token.startswith(_LOW):
            low = _limit(token.removeprefix(_LOW), low)
        elif token.startswith(_HIGH):
            high = _limit(token.removeprefix(_HIGH), high)
        else:
            names.append(token)
    return InstructionFilter(low, high, tuple(names))


def _limit(text: str, otherwise: int | None) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return otherwise
    return None if number < 0 else number
