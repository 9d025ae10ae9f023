"""The form each op takes on one shard, and what must hold for it to have one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_table import OpTable
from sdy.partitioner.local import (
    annotations,
    calls,
    collectives,
    concatenate,
    control,
    gather,
    random,
    reduction,
    scatter,
    shape,
    slicing,
    top_k,
    updates,
    window,
)
from sdy.partitioner.local import cumulative as running
from sdy.partitioner.local.independent import independent
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.shard_rules import sharded_op_key

FORMS = OpTable[LocalForm](
    shape.FORMS,
    slicing.FORMS,
    concatenate.FORMS,
    updates.FORMS,
    gather.FORMS,
    scatter.FORMS,
    window.FORMS,
    running.FORMS,
    reduction.FORMS,
    top_k.FORMS,
    random.FORMS,
    control.FORMS,
    calls.FORMS,
    annotations.FORMS,
    collectives.FORMS,
)
CHECKS = OpTable[Check](
    shape.CHECKS,
    slicing.CHECKS,
    concatenate.CHECKS,
    scatter.CHECKS,
    window.CHECKS,
    reduction.CHECKS,
    top_k.CHECKS,
    control.CHECKS,
    calls.CHECKS,
    annotations.CHECKS,
    collectives.CHECKS,
)


def local_form(op: Operation) -> LocalForm:
    """What turns `op`, which still has whole tensors, into its form on one shard."""
    return FORMS.get(op) or independent(op)


def check_all(ops: Sequence[Operation], lowering: Lowering) -> None:
    """Raises: SdyError where one of `ops`, none of which is changed yet, has no form on shards.

    Of ops that run on shards alike one is looked at.
    """
    checked: set[Hashable] = set()
    for op in ops:
        key = sharded_op_key(op, map(lowering.sharding, (*operands_of(op), *op.results)))
        if key not in checked:
            check(op, lowering)
            checked.add(key)


def check(op: Operation, lowering: Lowering) -> None:
    """Raises: SdyError where `op` has no form on shards as its tensors are cut. Unregistered ops are taken as given."""
    own = CHECKS.get(op)
    if own is not None:
        own(lowering)
    elif not isinstance(op, UnregisteredOp):
        lowering.check_agreement(op)
