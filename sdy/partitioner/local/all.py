"""The form each op takes on one shard."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.op_table import OpTable
from sdy.partitioner.local import collectives, independent, shape
from sdy.partitioner.local.independent import replicated_only
from sdy.partitioner.local.lowering import LocalForm

FORMS = OpTable[LocalForm](independent.FORMS, shape.FORMS, collectives.FORMS)


def local_form(op: Operation) -> LocalForm:
    """What turns `op` into its form on one shard."""
    return FORMS.get(op) or replicated_only(op)
