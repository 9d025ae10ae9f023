"""Gather the operands of ops that cannot run on shards, after reshards have become collectives.

Explicit reshards follow sharding rules, which are not sufficient for all ops: they do not express that the windows of a
convolution overlap, or that an update may affect several shards; some ops have no rule. Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.shardings import sharding_of
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


def unshard_unsupported_ops(module: ModuleOp, padder: Padder) -> None:
    """Gather the operands of ops that cannot run on shards, so that every device computes all of their results.

    Requires: every sharded dim divides.
    """
    checks = Lowering(module, Style()).checks
    unsupported = [
        op
        for op in pre_order(module)
        if (_changes_sharding(op, padder) if isinstance(op, PadOp | SliceOp) else _rule_is_insufficient(op))
        and not _runs_on_shards(op, checks)
    ]
    for op in unsupported:
        compute_unpadded(op, padder)


def _changes_sharding(op: PadOp | SliceOp, padder: Padder) -> bool:
    """Return whether operand and result are sharded differently, and both have no padding."""
    if sharding_of(op.result) is None or padder.facts.is_padded(op.operand) or padder.facts.is_padded(op.result):
        return False
    return padder.facts.dim_axes(op.operand) != padder.facts.dim_axes(op.result)


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
