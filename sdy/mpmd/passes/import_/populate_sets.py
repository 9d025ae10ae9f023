"""Compute on which meshes values are needed, and on which they can be made. Source: docs/spec/07, 5.11 and 5.12.

The use set of an op has the meshes of all ops that need its results; it flows from users to producers. The src set has
the meshes on which the op can run without a transfer; it flows from producers to users.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import post_order
from sdy.mpmd.dialect.attrs import Reduction, ReductionAttr
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.regions import ForOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.passes.tools.mesh_sets import (
    SRC_SET,
    USE_SET,
    MeshSet,
    SetQueries,
    argument_set,
    intersection,
    op_set,
    result_set,
    union,
    write_argument_set,
    write_result_set,
)
from sdy.mpmd.passes.tools.meshless import (
    binary_kind,
    is_meshless,
    kind_of_reduce,
    reduce_of_concatenate,
    reversed_post_order,
)
from sdy.mpmd.passes.tools.uses import users_of, users_of_op

REDUCE = "mpmd.reduce"
INFERRED_IN = "inferred_in"
MAX_ROUNDS = 10


class PopulateUseSetPass(ModulePass):
    """Annotate each op without a mesh with the meshes on which its results are needed."""

    name = "mpmd-infer-mesh-populate-use-set"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the entry points, and the functions that they call."""
        sets = _UseSets(op)
        for func in mpmd_functions(op):
            if is_entry_point(func):
                sets.visit(func)


class _UseSets:
    """Visits users before producers, and adds to the use sets that exist."""

    def __init__(self, module: ModuleOp) -> None:
        self._queries = SetQueries(module)

    def visit(self, func: FuncOp) -> None:
        """Visit the ops of a function, and then its arguments."""
        for op in reversed_post_order(func):
            self._visit_op(op)
        for argument in func.body.block.args:
            self._update_argument(argument)

    def _visit_op(self, op: Operation) -> None:
        match op:
            case AssignOp():
                labels = [] if op.origin is None else [op.origin.data]
                op.attributes[USE_SET] = MeshSet({op.mesh: labels}).attribute()
            case CallOp():
                self._visit_call(op)
            case ForOp():
                for argument in op.body.block.args:
                    self._update_argument(argument)
            case ReturnOp():
                self._visit_return(op)
            case _ if is_meshless(op) or isinstance(op, BroadcastOp | ReduceOp | UnassignOp):
                base = op_set(op, USE_SET)
                for result in op.results:
                    base = self._queries.used_on(result, base)
                if base:
                    op.attributes[USE_SET] = base.attribute()
            case _:
                pass

    def _update_argument(self, argument: BlockArgument) -> None:
        meshes = self._queries.used_on(argument, argument_set(argument, USE_SET))
        if meshes:
            write_argument_set(argument, USE_SET, meshes)

    def _visit_return(self, op: ReturnOp) -> None:
        """Add the uses of the results of a loop to what its body returns."""
        loop = op.parent_op()
        if not isinstance(loop, ForOp):
            return
        for index, (result, value) in enumerate(zip(loop.results, op.operands, strict=True)):
            if not isinstance(value, OpResult):
                continue
            if isinstance(value.op, CallOp):
                callee = self._queries.callee(value.op)
                meshes = self._queries.used_on(result, result_set(callee, index))
                if meshes:
                    write_result_set(callee, index, meshes)
            else:
                meshes = self._queries.used_on(result, op_set(value.op, USE_SET))
                if meshes:
                    value.op.attributes[USE_SET] = meshes.attribute()

    def _visit_call(self, call: CallOp) -> None:
        """Visit the callee; repeatedly, where a result of a call of it is an operand of another one."""
        is_changed = self._round(call)
        if is_in_chain(call):
            rounds = 0
            while is_changed and rounds < MAX_ROUNDS:
                is_changed = self._round(call)
                rounds += 1

    def _round(self, call: CallOp) -> bool:
        callee = self._queries.callee(call)
        has_grown = False
        for index, result in enumerate(call.results):
            before = result_set(callee, index)
            meshes = self._queries.used_on(result, before)
            if meshes is not None and len(meshes.meshes) > (0 if before is None else len(before.meshes)):
                write_result_set(callee, index, meshes)
                has_grown = True
        if has_grown or not any(argument_set(argument, USE_SET) for argument in callee.body.block.args):
            self.visit(callee)
            return True
        return False


def is_in_chain(call: CallOp) -> bool:
    """Return whether a result of a call is an operand of a call of the same function."""
    return any(isinstance(user, CallOp) and user.callee == call.callee for user in users_of_op(call))


class PopulateSrcSetPass(ModulePass):
    """Annotate each op without a mesh with the meshes on which it can run without a transfer."""

    name = "mpmd-infer-mesh-populate-src-set"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the entry points, and the functions that they call."""
        sets = _SrcSets(op)
        for func in mpmd_functions(op):
            if is_entry_point(func):
                sets.visit_entry_point(func)


class _SrcSets:
    """Visits producers before users."""

    def __init__(self, module: ModuleOp) -> None:
        self._queries = SetQueries(module)

    def visit_entry_point(self, func: FuncOp) -> None:
        """Visit the arguments of a function, and the ops of its body."""
        for argument in func.body.block.args:
            used = argument_set(argument, USE_SET)
            if used:
                meshes = MeshSet({mesh: [INFERRED_IN] for mesh in used.names()})
                write_argument_set(argument, SRC_SET, meshes)
        for op in list(func.body.block.ops):
            self._visit_op(op)

    def _visit_body(self, op: FuncOp | ForOp) -> None:
        for inner in post_order(op):
            self._visit_op(inner)

    def _visit_op(self, op: Operation) -> None:
        match op:
            case UnassignOp():
                op.attributes[SRC_SET] = self._of_unassign(op).attribute()
            case CallOp():
                callee = self._queries.callee(op)
                self._pass_on(op.operands, callee.body.block.args)
                self._visit_body(callee)
            case ForOp():
                self._pass_on(op.operands, op.body.block.args)
                self._visit_body(op)
            case _ if isinstance(op, AssignOp) or is_meshless(op):
                meshes = op_set(op, SRC_SET)
                for operand in op.operands:
                    meshes = intersection(meshes, self._queries.made_on(operand))
                if meshes is not None:
                    op.attributes[SRC_SET] = meshes.attribute()
                    self._note_reduction(op, meshes)
            case _:
                pass

    def _pass_on(self, operands: Sequence[SSAValue], arguments: Sequence[BlockArgument]) -> None:
        """Restrict the arguments of a function or a loop to where the operands can be made."""
        for argument, operand in zip(arguments, operands, strict=False):
            meshes = intersection(self._queries.made_on(operand), argument_set(argument, SRC_SET))
            if meshes is not None:
                write_argument_set(argument, SRC_SET, meshes)

    def _of_unassign(self, op: UnassignOp) -> MeshSet:
        meshes = MeshSet({op.mesh: [] if op.origin is None else [op.origin.data]})
        for user in users_of(op.tensor):
            if isinstance(user, TransferOp):
                meshes.add(user.target_type.mesh, ["transfer"])
        if isinstance(op.tensor, BlockArgument):
            func = op.tensor.block.parent_op()
            if isinstance(func, FuncOp) and is_entry_point(func):
                used = self._queries.used_on(op.result)
                for mesh in () if used is None else used.names():
                    meshes.add(mesh, [INFERRED_IN])
        return meshes

    def _note_reduction(self, op: Operation, meshes: MeshSet) -> None:
        """Mark an op that can be a reduction over meshes, because its operands are on different ones.

        Its src set becomes the union of those of its operands.
        """
        reduce = reduce_of_concatenate(op)
        kind = binary_kind(op) if reduce is None else kind_of_reduce(reduce)
        if kind is None:
            return
        operand_sets = [self._queries.made_on(operand) for operand in op.operands]
        if any(each is not None and not each for each in operand_sets):
            return
        marks = [_mark_of(operand.owner) for operand in op.operands]
        if meshes and kind not in marks:
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
