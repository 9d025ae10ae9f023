"""Computing whole what has no form on shards, where reshards have become collectives already.

Explicit reshards go by sharding rules. Of some ops these do not say all: not that the windows of a convolution
overlap, nor that an update may fall into several shards; for some there is none. Source: docs/spec/06, 8.1.
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
from sdy.partitioner.on_shards.shard_rules import REPLICATED_FACTORS, shard_rule
from sdy.partitioner.padding.padder import Padder
from sdy.rules.all import sharding_rule


def compute_whole_what_shards_cannot(module: ModuleOp, padder: Padder) -> None:
    """Let every device compute all of the ops that cannot be run on shards as they are cut.

    Requires: every cut dim divides.
    """
    lowering = Lowering(module, Style())
    stuck = [
        op
        for op in pre_order(module)
        if (_is_cut_anew(op, padder) if isinstance(op, PadOp | SliceOp) else _needs_more_than_its_rule(op))
        and not _runs_on_shards(op, lowering)
    ]
    for op in stuck:
        padder.compute_whole(op)


def _is_cut_anew(op: PadOp | SliceOp, padder: Padder) -> bool:
    """Whether an op that moves elements gives a tensor cut otherwise than it takes it, both without padding."""
    if sharding_of(op.result) is None or padder.is_padded(op.operand) or padder.is_padded(op.result):
        return False
    return padder.cuts(op.operand) != padder.cuts(op.result)


def _needs_more_than_its_rule(op: Operation) -> bool:
    rule, own = shard_rule(op), sharding_rule(op)
    if rule is None:
        return False
    more = {*rule.need_replication} - {*(() if own is None else (*own.need_replication, *own.permutation))}
    return own is None or type(op) in REPLICATED_FACTORS or bool(more)


def _runs_on_shards(op: Operation, lowering: Lowering) -> bool:
    try:
        check(op, lowering)
    except SdyError:
        return False
    return True
