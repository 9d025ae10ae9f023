"""Turn assigns of values of other meshes into transfers. Source: docs/spec/07, 5.6.

before  %u = unassign %p : m1   %a = assign %u : m2
after   %a = transfer %p : m1 -> m2
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import redirect_uses
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions
from sdy.mpmd.dialect.ops import AssignOp, CallOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.types import is_inter_mesh
from sdy.mpmd.passes.tools.calls import callee, calls_by_callee, returned_values
from sdy.mpmd.passes.tools.fragments import wrap_in_fragment
from sdy.mpmd.passes.tools.greedy import rewrite_greedily
from sdy.mpmd.passes.tools.transfers import chain_transfers, cross_mesh_assigns, replace_assign
from sdy.mpmd.passes.tools.uses import is_before, move_before, move_to_start, users_of, uses_of_op


class IntroduceTransfersPass(ModulePass):
    """Replace assigns of values that are on a mesh by these values, or by transfers of them."""

    name = "mpmd-introduce-transfers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move unassigns into called functions, and then replace assigns."""
        calls = calls_by_callee(op)
        for func in mpmd_functions(op):
            if not is_entry_point(func):
                for argument in func.body.block.args:
                    _push_unassign(argument, calls.get(func.sym_name.data, []))
        rewrite_greedily(op, (_replace_assign_of_unassign, _wrap_sum))


def _push_unassign(argument: BlockArgument, calls: list[CallOp]) -> None:
    """Assign and unassign an argument in a called function, if all callers pass values of one mesh."""
    unassigns = [_unassign_behind(call.operands[argument.index]) for call in calls]
    found = [each for each in unassigns if each is not None]
    if not found or len(found) < len(unassigns) or len({each.mesh for each in found}) > 1:
        return
    if not any(isinstance(user, AssignOp) for user in users_of(argument)):
        return
    uses = list(argument.uses)
    assign = AssignOp.create(operands=[argument], result_types=[found[0].tensor.type])
    unassign = UnassignOp(assign.result)
    for op in (unassign, assign):
        argument.block.add_op(op)
        op.location = argument.location
        move_to_start(op, argument.block)
    redirect_uses(argument, uses, unassign.result)


def _unassign_behind(value: SSAValue) -> UnassignOp | None:
    if isinstance(value, OpResult) and isinstance(value.op, CallOp):
        value = returned_values(callee(value.op))[value.index]
    return value.owner if isinstance(value.owner, UnassignOp) else None


def _replace_assign_of_unassign(op: Operation) -> list[Operation] | None:
    """Replace an assign of an unassigned value by the value, by a transfer that exists, or by a new one."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    unassign = op.tensor.owner
    source = unassign.tensor
    if source.type == op.result.type:
        return replace_assign(op, source)
    for user in users_of(source):
        is_equal = isinstance(user, TransferOp) and user.result.type == op.result.type
        if is_equal and is_inter_mesh(unassign.source_type, op.target_type):
            if is_before(op, user):
                move_before(user, op)
            return replace_assign(op, user.results[0])
    assigns = cross_mesh_assigns(unassign)
    return chain_transfers(assigns if len(assigns) > 1 else [op], source)


def _wrap_sum(op: Operation) -> list[Operation] | None:
    """Wrap a sum of values of several meshes in a fragment on the mesh to which it is assigned."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, AddOp) or not _is_sum(op.tensor.owner):
        return None
    addition = op.tensor.owner
    wrap_in_fragment(addition, op.mesh, "introduce_transfers")
    new = [each.owner for each in op.operands if isinstance(each.owner, Operation)]
    fragment = [each.owner for owner in new for each in owner.operands if isinstance(each.owner, Operation)]
    inputs = [each.owner for owner in fragment for each in owner.operands if isinstance(each.owner, Operation)]
    return [addition, *new, *fragment, *inputs, op]


def _is_sum(op: AddOp) -> bool:
    """Return whether each operand is an unassigned value, or such a sum; and all sums have one use."""
    return len(uses_of_op(op)) == 1 and all(
        isinstance(owner, UnassignOp) or (isinstance(owner, AddOp) and _is_sum(owner))
        for owner in (operand.owner for operand in op.operands)
    )
