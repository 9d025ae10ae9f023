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
from xdsl.passes import ModulePass

from sdy.partitioner.padding.unshard_ops import unshard_unsupported_ops


class UnshardUnsupportedOpsPass(ModulePass):
    """Run ops unsharded that cannot run on shards."""

    name = "sdy-unshard-unsupported-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Gather the operands of such ops, and slice their results."""
        unshard_unsupported_ops(op)
