"""Gather the operands of ops that cannot run on shards, so that every device computes all of their results.

    before  %1 = stablehlo.slice %0 [4:8] : tensor<8xf32>  [{"x"}]
    after   %1 = sdy.all_gather [{"x"}] %0 out_sharding=<@m, [{}]> : tensor<8xf32>
            %2 = stablehlo.slice %1 [4:8] : tensor<8xf32>  [{}]
            %3 = sdy.all_slice [{"x"}] %2 out_sharding=<@m, [{"x"}]> : tensor<4xf32>

Explicit reshards follow sharding rules, which are not sufficient for all ops: they do not express that the windows of a
convolution overlap, or that an update may affect several shards; some ops have no rule.
Requires: collectives instead of reshards; every sharded dim divides. Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.partitioner.emit.emitter import Style
from sdy.partitioner.local.all import check
from sdy.partitioner.local.lowering import Lowering
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.shard_facts import facts_of
from sdy.partitioner.on_shards.shard_rules import shard_rule
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder
from sdy.rules.all import sharding_rule


class UnshardUnsupportedOpsPass(ModulePass):
    """Run ops unsharded that cannot run on shards."""

    name = "sdy-unshard-unsupported-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Gather the operands of such ops, and slice their results."""
        unshard_unsupported_ops(op)


def unshard_unsupported_ops(module: ModuleOp) -> None:
    """Gather the operands of ops that cannot run on shards, so that every device computes all of their results.

    Requires: every sharded dim divides.
    """
    checks = Lowering(module, Style()).checks
    unsupported = [
        op
        for op in pre_order(module)
        if (isinstance(op, PadOp | SliceOp) or _rule_is_insufficient(op)) and not _runs_on_shards(op, checks)
    ]
    padder = Padder(module)
    for op in unsupported:
        compute_unpadded(op, padder)


def _rule_is_insufficient(op: Operation) -> bool:
    rule, own = shard_rule(op), sharding_rule(op)
    if rule is None:
        return False
    more = {*rule.need_replication} - {*(() if own is None else (*own.need_replication, *own.permutation))}
    return own is None or facts_of(op).replicated is not None or bool(more)


def _runs_on_shards(op: Operation, checks: ShardChecks) -> bool:
    try:
        check(op, checks)
    except SdyError:
        return False
    return True
