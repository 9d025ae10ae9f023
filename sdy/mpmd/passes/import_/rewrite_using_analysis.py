"""Put every op without a mesh into fragments, as the use sets say. Source: docs/spec/07, 5.16.

before  %0 = add %a, %a   %1 = assign %0 : m1   %2 = fragment<m1> (%1) (%x) { abs %x }
after   %1 = assign %a : m1   %2 = fragment<m1> (%1) (%x) { %3 = add %x, %x  abs %3 }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses, set_operand, set_type
from sdy.mpmd.dialect.attrs import in_mesh_order
from sdy.mpmd.dialect.functions import failure, is_entry_point, mpmd_functions, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, CallOp, UnassignOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType, mesh_type
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, entries_of, get, write_entries
from sdy.mpmd.passes.import_.function_ends import is_local, place_result
from sdy.mpmd.passes.tools.fragments import assigned, wrap_in_fragment
from sdy.mpmd.passes.tools.mesh_sets import (
    USE_SET,
    MeshSet,
    argument_set,
    default_mesh,
    erase_sets,
    made_on,
    op_set,
    preferred,
    result_set,
    used_on,
)
from sdy.mpmd.passes.tools.meshless import is_meshless
from sdy.mpmd.passes.tools.rewriting import without_values
from sdy.mpmd.passes.tools.uses import distinct, grouped, is_pure, users_of, users_of_op
from sdy.passes.rewriting.insertion import erase, insert, point_after
from sdy.passes.rewriting.structural_hash import uses_inside

COPIES = "mpmd.copies"
MADE_BY = "infer_mesh_wrap_meshless_ops"


@dataclass(frozen=True)
class RewriteUsingAnalysisPass(ModulePass):
    """Wrap ops in fragments on the meshes that need them, or move them into the fragments that use them.

    An op that several fragments use is copied into them if they are at most `max-clones`, or if the op is cheap.
    """

    name = "mpmd-infer-mesh-rewrite-using-analysis"

    max_clones: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite called functions first, and then their callers."""
        functions = mpmd_functions(op)
        for func in functions:
            if not is_entry_point(func):
                _rewrite_results(func)
                self._rewrite_block(func.body.block)
                _rewrite_arguments(func)
        for func in functions:
            if is_entry_point(func):
                self._rewrite_block(func.body.block)
        for func in functions:
            update_function_type(func)

    def _rewrite_block(self, block: Block) -> None:
        """Rewrite the ops of a block, from the last to the first."""
        for op in reversed(list(block.ops)):
            if isinstance(op, CallOp):
                _rewrite_call(op)
            elif isinstance(op, ForOp):
                _assign_returned(op)
                self._rewrite_block(op.body.block)
                _carry_mesh_tensors(op)
            elif is_meshless(op):
                self._place(op)

    def _place(self, op: Operation) -> None:
        """Move an op into the only fragment that uses it, copy it into several, or wrap it in new ones."""
        _check_assigned(op)
        erase_sets(op)
        assigns = [user for user in distinct(users_of_op(op)) if isinstance(user, AssignOp)]
        users = distinct(user for assign in assigns for user in users_of(assign.result))
        fragments = [user for user in users if isinstance(user, FragmentOp)]
        has_other_user = len(fragments) < len(users)
        if len(fragments) == 1 and not has_other_user:
            _absorb(op, fragments[0], assigns, copies=False)
            for assign in assigns:
                erase(assign)
            return
        is_cheap = len(op.operands) <= 1 and len(op.results) == 1 and not op.regions and is_pure(op)
        is_copied_often = len(fragments) > self.max_clones and bool(op.operands) and not is_cheap
        if not fragments or has_other_user or is_copied_often:
            for mesh in sorted({assign.mesh for assign in assigns}, key=in_mesh_order):
                wrap_in_fragment(op, mesh, MADE_BY, lambda use, mesh=mesh: _is_on(use, mesh))
        else:
            for fragment in fragments:
                _absorb(op, fragment, assigns, copies=True)
        for user in distinct(users_of_op(op)):
            erase(user)
        erase(op)


def _rewrite_results(func: FuncOp) -> None:
    """Return each local value of a called function as a mesh tensor, once per mesh that needs it."""
    end = terminator_of(func.body)
    entries = entries_of(func, RES_ATTRS)
    for index, value in enumerate(list(end.operands)):
        if not is_local(value.type):
            continue
        used = result_set(func, index)
        meshes = used.names() if used else [_some_mesh(func, value)]
        _note_copies(entries, index, len(end.operands), len(meshes) - 1)
        placed = [assigned(end, value, mesh) for mesh in meshes]
        set_operand(end, index, placed[0])
        end.operands = [*end.operands, *placed[1:]]
    write_entries(func, RES_ATTRS, entries)


def _some_mesh(func: FuncOp, value: SSAValue) -> str:
    """Return a mesh for a value that nothing needs."""
    return preferred(made_on(value)) or default_mesh(func)


def _rewrite_arguments(func: FuncOp) -> None:
    """Make each local argument of a called function a mesh tensor, once per mesh on which it is needed."""
    block = func.body.block
    entries = entries_of(func, ARG_ATTRS)
    last: Operation | None = None
    for argument in list(block.args):
        if not is_local(argument.type):
            continue
        by_mesh = _assigns_by_mesh(argument)
        if not by_mesh:
            mesh = preferred(argument_set(argument, USE_SET)) or _some_mesh(func, argument)
            set_type(argument, MeshTensorType.of(mesh, argument.type))
            continue
        local = argument.type
        _note_copies(entries, argument.index, len(block.args), len(by_mesh) - 1)
        for number, (mesh, assigns) in enumerate(by_mesh.items()):
            on_mesh = MeshTensorType.of(mesh, local)
            placed = block.insert_arg(on_mesh, len(block.args), argument.location) if number else argument
            set_type(placed, on_mesh)
            last = _insert_unassign(placed, assigns, block, last)
    write_entries(func, ARG_ATTRS, entries)


def _rewrite_call(call: CallOp) -> None:
    """Pass and take mesh tensors in a call of a function that was rewritten."""
    callee = call.function
    arguments = callee.body.block.args
    place = InsertPoint.after(call)
    operands: list[SSAValue] = [*call.operands, *list(call.operands)[:1] * (len(arguments) - len(call.operands))]
    for index, operand in enumerate(call.operands):
        if is_local(operand.type):
            for position in (index, *_copies(callee, ARG_ATTRS, index)):
                assign = AssignOp.create(operands=[operand], result_types=[arguments[position].type])
                operands[position] = insert(assign, place, call.location).result
    new = CallOp.create(
        operands=operands,
        result_types=list(terminator_of(callee.body).operand_types),
        properties=call.properties,
        attributes=call.attributes,
    )
    insert(new, place, call.location)
    for index, result in enumerate(call.results):
        candidates = [new.results[index], *(new.results[each] for each in _copies(callee, RES_ATTRS, index))]
        if not is_local(result.type):
            replace_uses(result, new.results[index])
        for user in users_of(result):
            if isinstance(user, AssignOp):
                found = next((each for each in candidates if each.type == user.result.type), None)
                if found is None:
                    needed = "is needed on a mesh on which it is not made"
                    message = f"result {index} of @{callee.sym_name.data} {needed}"
                    raise failure(call, "SDY-M109", message, "set infer-transfers, or transfer the value")
                set_operand(user, 0, insert(UnassignOp(found), place, call.location).result)
    _check_assigned(call)
    erase(call)


def _assign_returned(loop: ForOp) -> None:
    """Return mesh tensors from a loop. Raises: SdyError SDY-M108 for a value that several meshes need."""
    end = terminator_of(loop.body)
    for index, value in enumerate(list(end.operands)):
        if is_local(value.type):
            used = used_on(value) if isinstance(value.owner, Block) else op_set(value.owner, USE_SET)
            if used is None or len(used.meshes) != 1:
                meshes = ", ".join((used or MeshSet()).names()) or "none"
                message = f"a value that a loop carries must be needed on one mesh, got {meshes}"
                raise failure(loop, "SDY-M108", message)
            place_result(end, index, used.names()[0])


def _carry_mesh_tensors(loop: ForOp) -> None:
    """Carry mesh tensors through a loop that returns them."""
    block, end = loop.body.block, terminator_of(loop.body)
    for index, argument in enumerate(block.args):
        if is_local(argument.type):
            _place_carried(loop, argument, end.operands[index].type if index < len(end.operands) else None)
    for index, operand in enumerate(list(loop.operands)):
        if is_local(operand.type) and not is_local(block.args[index].type):
            set_operand(loop, index, assigned(loop, operand, mesh_type(block.args[index].type).mesh))
    last: Operation = loop
    for result, value in zip(loop.results, end.operands, strict=True):
        assigns = [user for user in users_of(result) if isinstance(user, AssignOp)]
        set_type(result, value.type)
        for assign in assigns:
            last = _insert_unassign(result, [assign], block, last)
    erase_sets(loop)


def _check_assigned(op: Operation) -> None:
    """Raise SdyError SDY-M110 if a local result of an op is used other than by assigns, which says no mesh."""
    for result in op.results:
        user = next((each for each in users_of(result) if not isinstance(each, AssignOp)), None)
        if user is not None and is_local(result.type):
            hint = "run mpmd-infer-mesh-assign-mesh-func-leaves first, or mpmd-infer-mesh-pipeline"
            raise failure(op, "SDY-M110", f"{op.name} has no mesh: {user.name} uses it, and no assign", hint)


def _place_carried(loop: ForOp, argument: BlockArgument, returned: Attribute | None) -> None:
    """Make an argument of a loop a mesh tensor, on the mesh that needs it, or on that of the value returned for it."""
    by_mesh = _assigns_by_mesh(argument)
    meshes = list(by_mesh) or ([returned.mesh] if isinstance(returned, MeshTensorType) else [])
    if len(meshes) > 1:
        raise failure(loop, "SDY-M108", f"a value that a loop carries is needed on several meshes: {meshes}")
    if meshes:
        set_type(argument, MeshTensorType.of(meshes[0], argument.type))
        for assigns in by_mesh.values():
            _insert_unassign(argument, assigns, argument.block, None)


def _insert_unassign(
    value: SSAValue, assigns: Sequence[AssignOp], block: Block, anchor: Operation | None
) -> UnassignOp:
    """Insert an unassign of a value after another op, or at the start of the block, as the operand of assigns."""
    unassign = insert(UnassignOp(value), point_after(anchor, block), assigns[0].location)
    for assign in assigns:
        set_operand(assign, 0, unassign.result)
    return unassign


def _is_on(use: Use, mesh: str) -> bool:
    """Return whether a use assigns a value to a mesh; a use of a token is on any."""
    user = use.operation
    return user.mesh == mesh if isinstance(user, AssignOp) else not is_local(user.operands[use.index].type)


def _absorb(op: Operation, fragment: FragmentOp, assigns: Sequence[AssignOp], *, copies: bool) -> None:
    """Put an op, or a copy of it, at the start of a fragment that uses its results through assigns."""
    block = fragment.block
    values = distinct([*(use.operation.operands[use.index] for use in uses_inside(op)), *op.operands])
    arguments: dict[SSAValue, SSAValue] = {}
    inputs: list[SSAValue] = list(fragment.operands)
    for value in values:
        arguments[value] = block.insert_arg(value.type, len(block.args))
        inputs.append(assigned(fragment, value, fragment.mesh))
    users = [
        (op.results.index(assign.tensor), use.index)
        for assign in assigns
        for use in assign.result.uses
        if use.operation is fragment
    ]
    inner = copy_with_regions(op, arguments) if copies else _moved(op, arguments)
    insert(inner, InsertPoint.at_start(block), inner.location)
    for result, index in users:
        replace_uses(block.args[index], inner.results[result])
    fragment.operands = inputs
    without_values(fragment, [index for _, index in users], ())


def _moved(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """Detach an op and replace the values that it uses, itself and in its regions."""
    op.detach()
    for inner in op.walk():
        for index, operand in enumerate(inner.operands):
            if operand in values:
                set_operand(inner, index, values[operand])
    return op


def _assigns_by_mesh(value: SSAValue) -> dict[str, list[AssignOp]]:
    """Return the assigns of a value by mesh, in mesh order."""
    assigns = (user for user in users_of(value) if isinstance(user, AssignOp))
    by_mesh = grouped(assigns, lambda assign: assign.mesh)
    return {mesh: by_mesh[mesh] for mesh in sorted(by_mesh, key=in_mesh_order)}


def _note_copies(entries: list[dict[str, Attribute]], index: int, first: int, count: int) -> None:
    """Note that copies of value `index` are at `count` positions from `first` on."""
    if count:
        entries[index][COPIES] = DenseArrayBase.from_list(i64, list(range(first, first + count)))
        entries += [{} for _ in range(count)]


def _copies(func: FuncOp, name: str, index: int) -> Sequence[int]:
    positions = get(func, name, index, COPIES)
    return [int(each) for each in positions.get_values()] if isinstance(positions, DenseArrayBase) else ()
