"""Replace assigns of values that are on another mesh by transfers. Source: docs/spec/07, 4.10, 5.6 and 5.17."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import redirect_uses, replace_uses
from sdy.dialects.ir.walk import post_order
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.mpmd.dialect.attrs import Reduction, in_mesh_order
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType, is_inter_mesh, mesh_type
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, attrs_of, entries_of, write_entries
from sdy.mpmd.passes.import_.function_ends import is_local, place_argument
from sdy.mpmd.passes.tools.calls import block_of_op, callee, calls_by_callee, returned_values
from sdy.mpmd.passes.tools.fragments import inferred_by, wrap_in_fragment
from sdy.mpmd.passes.tools.frame import Findings
from sdy.mpmd.passes.tools.mesh_sets import SRC_SET, USE_SET, op_set, smallest
from sdy.mpmd.passes.tools.meshless import is_meshless, step_of
from sdy.mpmd.passes.tools.rewriting import rewrite_greedily
from sdy.mpmd.passes.tools.uses import (
    distinct,
    in_block_order,
    is_before,
    move_before,
    move_to_start,
    users_of,
    users_of_op,
    uses_of_op,
)
from sdy.passes.rewriting.insertion import erase, insert_before


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
        rewrite_greedily(
            op,
            (_remove_assign, _remove_broadcast, _remove_reduce, *((_transfer_any,) if self.infer_transfers else ())),
            simplifies_regions=True,
        )
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


def _remove_assign(op: Operation) -> list[Operation] | None:
    """Replace an assign by the value on its mesh, by a transfer that exists, or by one of an argument."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    unassign = op.tensor.owner
    source = unassign.tensor
    if unassign.mesh == op.mesh:
        return replace_assign(op, source)
    for user in users_of(source):
        if isinstance(user, TransferOp) and user.result.type == op.result.type:
            ancestor = block_of_op(user).find_ancestor_op_in_block(op)
            if ancestor is not None:
                if is_before(ancestor, user):
                    move_before(user, ancestor)
                return replace_assign(op, user.result)
    if isinstance(source, BlockArgument):
        func = source.block.parent_op()
        if isinstance(func, FuncOp) and is_entry_point(func):
            return chain_transfers(cross_mesh_assigns(unassign), source)
    return None


def _transfer_any(op: Operation) -> list[Operation] | None:
    """Replace all assigns of a value to other meshes by transfers."""
    if not isinstance(op, AssignOp) or not isinstance(op.tensor.owner, UnassignOp):
        return None
    return chain_transfers(cross_mesh_assigns(op.tensor.owner), op.tensor.owner.tensor)


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
    by_mesh: dict[str, list[SSAValue]] = {}
    for source in sources:
        by_mesh.setdefault(mesh_type(source.type).mesh, []).append(source)
    inserter = _Inserter(op)
    groups = [by_mesh[mesh] for mesh in sorted(by_mesh, key=str.encode)]
    partial = [inserter.combine(op.reduction.data, group) if len(group) > 1 else group[0] for group in groups]
    assigns = [user for user in users_of(op.result) if isinstance(user, AssignOp)]
    touched: list[Operation] = []
    needed = op_set(op, USE_SET)
    for mesh in distinct([*(needed.names() if needed else ()), *(assign.mesh for assign in assigns)]):
        here = [assign for assign in assigns if assign.mesh == mesh]
        if here:
            total = inserter.combine(op.reduction.data, [inserter.moved(each, here[0].target_type) for each in partial])
            for assign in here:
                touched += replace_assign(assign, total)
    return [*touched, op]


class _Inserter:
    """Inserts ops one after another, after a reduction."""

    def __init__(self, op: ReduceOp) -> None:
        self._last: Operation = op

    def _insert(self, op: Operation) -> None:
        block_of_op(self._last).insert_op_after(op, self._last)
        op.location = self._last.location
        self._last = op

    def moved(self, value: SSAValue, target: MeshTensorType) -> SSAValue:
        """Return a value on the mesh of a type, transferred if it is not there."""
        if value.type == target:
            return value
        transfer = TransferOp(value, target)
        self._insert(transfer)
        return transfer.result

    def combine(self, kind: Reduction, values: Sequence[SSAValue]) -> SSAValue:
        """Return the combination of values of one mesh, from left to right."""
        first = mesh_type(values[0].type)
        fragment = FragmentOp.make(
            first.mesh, (), values, [first], attributes=inferred_by("infer_mesh_convert_reduce_ops")
        )
        total: SSAValue = fragment.block.args[0]
        for argument in fragment.block.args[1:]:
            step = step_of(kind).create(operands=[total, argument], result_types=[first.tensor])
            fragment.block.add_op(step)
            total = step.results[0]
        fragment.block.add_op(ReturnOp(total))
        self._insert(fragment)
        return fragment.results[0]


def _check(func: FuncOp, findings: Findings) -> None:
    """Note what is not on a mesh, and remove the sets of the analysis."""
    types = func.function_type
    for kind, values in (("input", types.inputs), ("output", types.outputs)):
        for index, value_type in enumerate(values):
            if not isinstance(value_type, MeshTensorType):
                message = f"{kind} {index} of @{func.sym_name.data} is not on a mesh, but a {value_type}"
                findings.error(func, "SDY-M110", message)
    for op in post_order(func):
        for name in (USE_SET, SRC_SET):
            op.attributes.pop(name, None)
        if isinstance(op, AssignOp | UnassignOp | BroadcastOp):
            message = f"{op.name} is left after mesh inference: a value is needed on a mesh to which it must not move"
            findings.error(op, "SDY-M110", message, "set infer-transfers, or transfer the value")
        elif is_meshless(op):
            findings.error(op, "SDY-M110", f"{op.name} is on no mesh after mesh inference")
    counts = {ARG_ATTRS: len(func.body.block.args), RES_ATTRS: len(terminator_of(func.body).operands)}
    for name, count in counts.items():
        if attrs_of(func, name) is not None:
            entries = entries_of(func, name, count)
            kept = [{key: each for key, each in entry.items() if key not in (USE_SET, SRC_SET)} for entry in entries]
            write_entries(func, name, kept)
