"""Transfers that take the place of assigns of values that are on another mesh. Source: docs/spec/07, 4.10."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.mpmd.dialect.mesh_names import in_mesh_order
from sdy.mpmd.dialect.ops import AssignOp, TransferOp, UnassignOp
from sdy.mpmd.passes.tools.uses import distinct, first_in_block, users_of, users_of_op
from sdy.passes.rewriting.insertion import erase, insert_before


def cross_mesh_assigns(unassign: UnassignOp) -> list[AssignOp]:
    """Return the assigns of an unassigned value to other meshes."""
    users = users_of(unassign.result)
    return [user for user in users if isinstance(user, AssignOp) and user.mesh != unassign.mesh]


def chain_transfers(assigns: Sequence[AssignOp], source: SSAValue) -> list[Operation]:
    """Replace assigns by a chain of transfers from mesh to mesh; return the ops to visit next."""
    place = first_in_block(assigns)
    touched: list[Operation] = []
    value = source
    for assign in sorted(distinct(assigns), key=lambda each: in_mesh_order(each.mesh)):
        assert place is not None  # the block does not end before a use of the assigns
        if assign.result.type != value.type:
            transfer = TransferOp(value, assign.target_type)
            insert_before(place, transfer)
            transfer.location = assign.location
            value = transfer.result
            touched.append(transfer)
        if place is assign:
            place = assign.next_op
        touched += replace_assign(assign, value)
    return touched


def replace_assign(assign: AssignOp, value: SSAValue) -> list[Operation]:
    """Replace an assign by a value; return the ops to visit next."""
    touched = users_of_op(assign)
    source = assign.tensor.owner
    replace_uses(assign.result, value)
    erase(assign)
    return [*touched, source] if isinstance(source, Operation) else touched
