"""Gather the operands of ops that cannot run on shards, after reshards have become collectives."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

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
