"""The local form of each op, and the check that must hold for it to have one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.collectives import CollectiveOp
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
from sdy.partitioner.local.lowering import LocalForm
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.shard_rules import sharded_op_key

FORMS = OpTable[LocalForm](
    shape.FORMS,
    slicing.FORMS,
    concatenate.FORMS,
    updates.FORMS,
    gather.FORMS,
    scatter.FORMS,
    window.FORMS,
    reduction.FORMS,
    top_k.FORMS,
    random.FORMS,
    control.FORMS,
    calls.FORMS,
    annotations.FORMS,
    collectives.FORMS,
)
CHECKS = OpTable[None, [ShardChecks]](
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
    """Return the function that rewrites `op`, which still has global shapes, to its local form.

    Without an entry in a table, each shard runs the same op on smaller tensors. Source: docs/spec/06, 1.4, 1.14, 1.15.
    """
    form = FORMS.get(op)
    if form is None:
        return lambda lowering: lowering.make_results_local(op)
    return collectives.unless_empty(op, form) if isinstance(op, CollectiveOp) else form


def check_all(ops: Sequence[Operation], checks: ShardChecks) -> None:
    """Check that each of `ops`, none of which has been lowered yet, has a local form.

    Ops with equal keys are checked once.
    Raises: SdyError for the first op without a local form.
    """
    checked: set[Hashable] = set()
    for op in ops:
        key = sharded_op_key(op, map(checks.shardings.of, (*operands_of(op), *op.results)))
        if key not in checked:
            check(op, checks)
            checked.add(key)


def check(op: Operation, checks: ShardChecks) -> None:
    """Check that `op` has a local form for the shardings of its tensors. Unregistered ops are accepted as they are.

    Raises: SdyError if it has none.
    """
    if type(op) in CHECKS:
        CHECKS.get(op, checks)
    elif not isinstance(op, UnregisteredOp):
        checks.check_agreement(op)
