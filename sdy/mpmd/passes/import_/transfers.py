"""Replace assigns of values that are on another mesh by transfers. Source: docs/spec/07, 4.10, 5.6 and 5.17."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import redirect_uses, replace_uses
from sdy.dialects.ir.walk import post_order
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.mpmd.dialect.attrs import in_mesh_order
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType, is_inter_mesh, mesh_type
from sdy.mpmd.passes.import_.function_ends import is_local, place_argument
from sdy.mpmd.passes.tools.fragments import inferred_by, wrap_in_fragment
from sdy.mpmd.passes.tools.frame import Findings
from sdy.mpmd.passes.tools.mesh_sets import USE_SET, erase_sets, op_set, smallest
from sdy.mpmd.passes.tools.meshless import is_meshless, step_of
from sdy.mpmd.passes.tools.rewriting import rewrite_greedily
from sdy.mpmd.passes.tools.uses import (
    calls_by_callee,
    distinct,
    grouped,
    in_block_order,
    move,
    users_of,
    users_of_op,
    uses_of_op,
)
from sdy.passes.rewriting.insertion import erase, insert


def cross_mesh_assigns(unassign: UnassignOp) -> list[AssignOp]:
    """Return the assigns of an unassigned value to other meshes."""
    users = users_of(unassign.result)
    return [user for user in users if isinstance(user, AssignOp) and user.mesh != unassign.mesh]


def chain_transfers(assigns: Sequence[AssignOp], source: SSAValue) -> list[Operation]:
    """Replace assigns by a chain of transfers from mesh to mesh; return the ops to visit next."""
    place = next(iter(in_block_order(assigns)), None)
    touched: list[Operation] = []
    value = source
    for assign in sorted(distinct(assigns), key=lambda each: in_mesh_order(each.mesh)):
        assert place is not None  # the block does not end before a use of the assigns
        if assign.result.type != value.type:
            transfer = insert(TransferOp(value, assign.target_type), InsertPoint.before(place), assign.location)
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


class IntroduceTransfersPass(ModulePass):
    """Replace assigns of values that are on a mesh by these values, or by transfers of them.

    before  %u = unassign %p : m1   %a = assign %u : m2
    after   %a = transfer %p : m1 -> m2
    """

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
    place = InsertPoint.at_start(argument.block)
    assign = AssignOp.create(operands=[argument], result_types=[found[0].tensor.type])
    insert(assign, place, argument.location)
    redirect_uses(argument, uses, insert(UnassignOp(assign.result), place, argument.location).result)


def _unassign_behind(value: SSAValue) -> UnassignOp | None:
    if isinstance(value, OpResult) and isinstance(value.op, CallOp):
        value = terminator_of(value.op.function.body).operands[value.index]
    return value.owner if isinstance(value.owner, UnassignOp) else None


def _replace_assign_of_unassign(op: Operation) -> list[Operation] | None:
    """Replace an assign of an unassigned value by the value, by a transfer that exists, or by a new one."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    unassign = op.tensor.owner
    source = unassign.tensor
    if source.type == op.result.type:
        return replace_assign(op, source)
    existing = _existing_transfer(op, source) if is_inter_mesh(unassign.source_type, op.target_type) else None
    if existing is not None:
        return replace_assign(op, existing)
    assigns = cross_mesh_assigns(unassign)
    return chain_transfers(assigns if len(assigns) > 1 else [op], source)


def _existing_transfer(assign: AssignOp, source: SSAValue) -> SSAValue | None:
    """Return a transferred value of the type of an assign, moved before that; None if there is none."""
    for user in users_of(source):
        block = user.parent if isinstance(user, TransferOp) and user.result.type == assign.result.type else None
        ancestor = None if block is None else block.find_ancestor_op_in_block(assign)
        if ancestor is not None:
            if ancestor.is_before_in_block(user):
                move(user, InsertPoint.before(ancestor))
            return user.results[0]
    return None


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


@dataclass(frozen=True)
class FinalizePass(ModulePass):
    """Replace assigns and unassigns by mesh tensors and transfers, and check that everything is on a mesh."""

    name = "mpmd-infer-mesh-finalize"

    infer_transfers: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Place the arguments, remove the casts, check. Raises: SdyError SDY-M108, SDY-M110."""
        findings = Findings(ctx)
        for func in mpmd_functions(op):
            if is_entry_point(func):
                _place_arguments(func, findings)
        findings.raise_errors()
        remove_assign = partial(_remove_assign, infers_transfers=self.infer_transfers)
        rewrite_greedily(op, (remove_assign, _remove_broadcast, _remove_reduce), simplifies_regions=True)
        for func in mpmd_functions(op):
            update_function_type(func)
            _check(func, findings)
        findings.raise_errors()


def _place_arguments(func: FuncOp, findings: Findings) -> None:
    last: Operation | None = None
    for index, argument in enumerate(func.body.block.args):
        if not is_local(argument.type):
            continue
        assigns = [user for user in users_of(argument) if isinstance(user, AssignOp)]
        kinds = {assign.target_type.memory_kind for assign in assigns}
        if len(kinds) > 1:
            shown = ", ".join(sorted(kind or "none" for kind in kinds))
            message = f"argument {index} is assigned to different memory kinds: {shown}"
            findings.error(func, "SDY-M108", message, "use one memory kind for all uses of the argument")
            return
        if assigns:
            mesh = smallest([assign.mesh for assign in assigns])
            last = place_argument(argument, mesh, memory_kind=kinds.pop(), after=last)


def _remove_assign(op: Operation, infers_transfers: bool) -> list[Operation] | None:
    """Replace an assign by the value on its mesh, by a transfer that exists, or by one that is allowed: of an input."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    unassign = op.tensor.owner
    source = unassign.tensor
    existing = source if unassign.mesh == op.mesh else _existing_transfer(op, source)
    if existing is not None:
        return replace_assign(op, existing)
    func = source.block.parent_op() if isinstance(source, BlockArgument) else None
    if infers_transfers or (isinstance(func, FuncOp) and is_entry_point(func)):
        return chain_transfers(cross_mesh_assigns(unassign), source)
    return None


def _remove_broadcast(op: Operation) -> list[Operation] | None:
    """Transfer a broadcast value to all meshes that need it."""
    if not isinstance(op, BroadcastOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    assigns = [user for user in users_of(op.result) if isinstance(user, AssignOp)]
    return chain_transfers(assigns, op.tensor.owner.tensor) if assigns else None


def _remove_reduce(op: Operation) -> list[Operation] | None:
    """Reduce the values of each mesh there, transfer the results, and reduce them where they are needed."""
    if not isinstance(op, ReduceOp) or not all(isinstance(value.owner, UnassignOp) for value in op.tensors):
        return None
    sources = [value.owner.tensor for value in op.tensors if isinstance(value.owner, UnassignOp)]
    by_mesh = grouped(sources, lambda source: mesh_type(source.type).mesh)
    groups = [by_mesh[mesh] for mesh in sorted(by_mesh, key=str.encode)]
    place = InsertPoint.after(op)
    partial = [_combine(op, group, place) if len(group) > 1 else group[0] for group in groups]
    assigns = [user for user in users_of(op.result) if isinstance(user, AssignOp)]
    totals: dict[AssignOp, SSAValue] = {}
    needed = op_set(op, USE_SET)
    for mesh in distinct([*(needed.names() if needed else ()), *(assign.mesh for assign in assigns)]):
        here = [assign for assign in assigns if assign.mesh == mesh]
        if here:
            target = here[0].target_type
            moved = [
                each if each.type == target else insert(TransferOp(each, target), place, op.location).result
                for each in partial
            ]
            totals |= dict.fromkeys(here, _combine(op, moved, place))
    return [*(each for assign, total in totals.items() for each in replace_assign(assign, total)), op]


def _combine(op: ReduceOp, values: Sequence[SSAValue], place: InsertPoint) -> SSAValue:
    """Insert a fragment that combines values of one mesh from left to right, and return its result."""
    first = mesh_type(values[0].type)
    fragment = FragmentOp.make(first.mesh, (), values, [first], attributes=inferred_by("infer_mesh_convert_reduce_ops"))
    total: SSAValue = fragment.block.args[0]
    for argument in fragment.block.args[1:]:
        step = step_of(op.reduction.data).create(operands=[total, argument], result_types=[first.tensor])
        fragment.block.add_op(step)
        total = step.results[0]
    fragment.block.add_op(ReturnOp(total))
    return insert(fragment, place, op.location).results[0]


def _check(func: FuncOp, findings: Findings) -> None:
    """Note what is not on a mesh, and remove the sets of the analysis."""
    types = func.function_type
    for kind, values in (("input", types.inputs), ("output", types.outputs)):
        for index, value_type in enumerate(values):
            if not isinstance(value_type, MeshTensorType):
                message = f"{kind} {index} of @{func.sym_name.data} is not on a mesh, but a {value_type}"
                findings.error(func, "SDY-M110", message)
    for op in (*post_order(func), func):
        erase_sets(op)
        if isinstance(op, AssignOp | UnassignOp | BroadcastOp):
            message = f"{op.name} is left after mesh inference: a value is needed on a mesh to which it must not move"
            findings.error(op, "SDY-M110", message, "set infer-transfers, or transfer the value")
        elif is_meshless(op):
            findings.error(op, "SDY-M110", f"{op.name} is on no mesh after mesh inference")
