"""Compute on which meshes values are needed, and on which they can be made. Source: docs/spec/07, 5.11 and 5.12.

The use set of an op has the meshes of all ops that need its results; it flows from users to producers. The src set has
the meshes on which the op can run without a transfer; it flows from producers to users.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.ir.walk import ops_in, post_order, pre_order
from sdy.mpmd.dialect.attrs import Reduction, ReductionAttr
from sdy.mpmd.dialect.functions import is_entry_point
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point
from sdy.mpmd.passes.tools.mesh_sets import (
    SRC_SET,
    USE_SET,
    MeshSet,
    argument_set,
    intersection,
    made_on,
    op_set,
    result_set,
    union,
    used_on,
    write_argument_set,
    write_result_set,
)
from sdy.mpmd.passes.tools.meshless import (
    binary_kind,
    is_meshless,
    kind_of_reduce,
    reduce_of_concatenate,
)
from sdy.mpmd.passes.tools.uses import users_of, users_of_op

REDUCE = "mpmd.reduce"
INFERRED_IN = "inferred_in"
MAX_ROUNDS = 10


class PopulateUseSetPass(FunctionPass):
    """Annotate each op without a mesh with the meshes on which its results are needed.

    The entry points, and the functions that they call, are visited from users to producers; sets that exist grow.
    """

    name = "mpmd-infer-mesh-populate-use-set"
    ON = is_mpmd_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the ops of a function, and then its arguments."""
        _visit_uses(func)


def _visit_uses(func: FuncOp) -> None:
    for op in reversed(pre_order(func, FragmentOp)):
        _add_uses(op)
    for argument in func.body.block.args:
        _update_argument(argument)


def _add_uses(op: Operation) -> None:
    match op:
        case AssignOp():
            labels = [] if op.origin is None else [op.origin.data]
            op.attributes[USE_SET] = MeshSet({op.mesh: labels}).attribute()
        case CallOp():
            _visit_call(op)
        case ForOp():
            for argument in op.body.block.args:
                _update_argument(argument)
        case ReturnOp():
            _visit_return(op)
        case _ if is_meshless(op) or isinstance(op, BroadcastOp | ReduceOp | UnassignOp):
            base = op_set(op, USE_SET)
            for result in op.results:
                base = used_on(result, base)
            if base:
                op.attributes[USE_SET] = base.attribute()
        case _:
            pass


def _update_argument(argument: BlockArgument) -> None:
    meshes = used_on(argument, argument_set(argument, USE_SET))
    if meshes:
        write_argument_set(argument, USE_SET, meshes)


def _visit_return(op: ReturnOp) -> None:
    """Add the uses of the results of a loop to what its body returns."""
    loop = op.parent_op()
    if not isinstance(loop, ForOp):
        return
    for index, (result, value) in enumerate(zip(loop.results, op.operands, strict=True)):
        if not isinstance(value, OpResult):
            continue
        if isinstance(value.op, CallOp):
            meshes = used_on(result, result_set(value.op.function, index))
            if meshes:
                write_result_set(value.op.function, index, meshes)
        else:
            meshes = used_on(result, op_set(value.op, USE_SET))
            if meshes:
                value.op.attributes[USE_SET] = meshes.attribute()


def _visit_call(call: CallOp) -> None:
    """Visit the callee; repeatedly, where a result of a call of it is an operand of another one."""
    rounds = 1 + MAX_ROUNDS if is_in_chain(call) else 1
    while rounds and _grows(call):
        _visit_uses(call.function)
        rounds -= 1


def _grows(call: CallOp) -> bool:
    """Add the uses of the results of a call to those of the callee; return whether the callee must be visited."""
    callee = call.function
    has_grown = False
    for index, result in enumerate(call.results):
        before = result_set(callee, index)
        meshes = used_on(result, before)
        if meshes is not None and len(meshes.meshes) > (0 if before is None else len(before.meshes)):
            write_result_set(callee, index, meshes)
            has_grown = True
    return has_grown or not any(argument_set(argument, USE_SET) for argument in callee.body.block.args)


def is_in_chain(call: CallOp) -> bool:
    """Return whether a result of a call is an operand of a call of the same function."""
    return any(isinstance(user, CallOp) and user.callee == call.callee for user in users_of_op(call))


class PopulateSrcSetPass(FunctionPass):
    """Annotate each op without a mesh with the meshes on which it can run without a transfer.

    The entry points, and the functions that they call, are visited from producers to users.
    """

    name = "mpmd-infer-mesh-populate-src-set"
    ON = is_mpmd_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the arguments of a function, and the ops of its body."""
        for argument in func.body.block.args:
            used = argument_set(argument, USE_SET)
            if used:
                meshes = MeshSet({mesh: [INFERRED_IN] for mesh in used.names()})
                write_argument_set(argument, SRC_SET, meshes)
        for op in ops_in(func.body.block):
            _add_sources(op)


def _add_sources(op: Operation) -> None:
    match op:
        case UnassignOp():
            op.attributes[SRC_SET] = _of_unassign(op).attribute()
        case CallOp():
            _visit_body(op.operands, op.function)
        case ForOp():
            _visit_body(op.operands, op)
        case _ if isinstance(op, AssignOp) or is_meshless(op):
            meshes = op_set(op, SRC_SET)
            for operand in op.operands:
                meshes = intersection(meshes, made_on(operand))
            if meshes is not None:
                op.attributes[SRC_SET] = meshes.attribute()
                _note_reduction(op, meshes)
        case _:
            pass


def _visit_body(operands: Sequence[SSAValue], op: FuncOp | ForOp) -> None:
    """Restrict the arguments of a function or a loop to where the operands can be made, and visit its ops."""
    for argument, operand in zip(op.body.block.args, operands, strict=False):
        meshes = intersection(made_on(operand), argument_set(argument, SRC_SET))
        if meshes is not None:
            write_argument_set(argument, SRC_SET, meshes)
    for inner in post_order(op):
        _add_sources(inner)


def _of_unassign(op: UnassignOp) -> MeshSet:
    meshes = MeshSet({op.mesh: [] if op.origin is None else [op.origin.data]})
    for user in users_of(op.tensor):
        if isinstance(user, TransferOp):
            meshes.add(user.target_type.mesh, ["transfer"])
    if isinstance(op.tensor, BlockArgument):
        func = op.tensor.block.parent_op()
        if isinstance(func, FuncOp) and is_entry_point(func):
            used = used_on(op.result)
            for mesh in () if used is None else used.names():
                meshes.add(mesh, [INFERRED_IN])
    return meshes


def _note_reduction(op: Operation, meshes: MeshSet) -> None:
    """Mark an op that can be a reduction over meshes, because its operands are on different ones.

    Its src set becomes the union of those of its operands.
    """
    reduce = reduce_of_concatenate(op)
    kind = binary_kind(op) if reduce is None else kind_of_reduce(reduce)
    operand_sets = [made_on(operand) for operand in op.operands]
    if kind is None or any(each is not None and not each for each in operand_sets):
        return
    if meshes and kind not in [_mark_of(operand.owner) for operand in op.operands]:
        return
    joint: MeshSet | None = MeshSet()
    for each in operand_sets:
        joint = union(joint, each)
    op.attributes[SRC_SET] = (joint or MeshSet()).attribute()
    for marked in (op, *(() if reduce is None else (reduce,))):
        marked.attributes[REDUCE] = ReductionAttr(kind)


def _mark_of(owner: object) -> Reduction | None:
    mark = owner.attributes.get(REDUCE) if isinstance(owner, Operation) else None
    return mark.data if isinstance(mark, ReductionAttr) else None
