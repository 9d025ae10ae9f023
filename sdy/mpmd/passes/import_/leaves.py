"""Decide the mesh of what nothing else decides: outputs, unused values, broadcasts. Source: docs/spec/07, 5.14."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.fast_ops import set_operand, set_type
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.mpmd.dialect.attrs import in_mesh_order
from sdy.mpmd.dialect.functions import failure, is_entry_point, mpmd_functions, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.import_.function_ends import is_local, place_result
from sdy.mpmd.passes.tools.fragments import assigned, unassigned, wrap_in_fragment
from sdy.mpmd.passes.tools.mesh_sets import (
    SRC_SET,
    USE_SET,
    MeshSet,
    argument_set,
    default_mesh,
    erase_sets,
    made_on,
    op_set,
    preferred,
    write_argument_set,
    write_result_set,
)
from sdy.mpmd.passes.tools.meshless import has_tensor_result, is_meshless
from sdy.mpmd.passes.tools.uses import calls_by_callee, is_pure, is_used
from sdy.passes.rewriting.insertion import erase, insert

_HINT = "set infer-transfers, or transfer an operand"


@dataclass(frozen=True)
class AssignMeshFuncLeavesPass(ModulePass):
    """Place outputs, unused values, and the operands of broadcasts and reductions on meshes.

    As in Shardy, errors about outputs and unused arguments make the pass fail only if there are `error-limit` of them.
    """

    name = "mpmd-infer-mesh-assign-mesh-func-leaves"

    infer_transfers: bool = False
    error_limit: int = 5

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the functions. Raises: SdyError SDY-M109 for an op without a mesh, or for too many errors."""
        problems: list[Diagnostic] = []
        calls = calls_by_callee(op)
        for func in mpmd_functions(op):
            leaves = _Leaves(func, self.infer_transfers, problems)
            if is_entry_point(func):
                leaves.visit_entry_point()
            else:
                leaves.visit_called(calls.get(func.sym_name.data, []))
            if len(problems) == self.error_limit:
                raise SdyError(*problems)
        for problem in problems:
            emit(ctx, problem)


class _Leaves:
    """The values of one function that must be placed."""

    def __init__(self, func: FuncOp, infers_transfers: bool, problems: list[Diagnostic]) -> None:
        self._func = func
        self._infers_transfers = infers_transfers
        self._problems = problems
        self._first_mesh = default_mesh(func)

    def visit_entry_point(self) -> None:
        """Place unused arguments and all outputs, and visit the body."""
        for argument in self._func.body.block.args:
            if argument.first_use is None and is_local(argument.type):
                set_type(argument, MeshTensorType.of(self._first_mesh, argument.type))
        end = terminator_of(self._func.body)
        for index, value in enumerate(list(end.operands)):
            if is_local(value.type):
                used = None if isinstance(value.owner, Block) else op_set(value.owner, USE_SET)
                mesh = self._mesh_in(made_on(value), used)
                if mesh is None and not self._infers_transfers:
                    self._problem(Diagnostic("SDY-M109", f"output {index} cannot be placed on a mesh", span_of(end)))
                place_result(end, index, mesh or self._first_mesh, "inferred_out")
        self._visit_body()
        update_function_type(self._func)

    def visit_called(self, calls: list[CallOp]) -> None:
        """Visit the body, and place unused arguments and results."""
        self._visit_body()
        name = self._func.sym_name.data
        for argument in self._func.body.block.args:
            if argument.first_use is None and is_local(argument.type):
                mesh = self._mesh_in(argument_set(argument, SRC_SET))
                if mesh is None and not self._infers_transfers:
                    message = f"unused input {argument.index} of @{name} cannot be placed on a mesh"
                    self._problem(Diagnostic("SDY-M109", message, span_of_argument(argument)))
                    break
                meshes = MeshSet({mesh or self._first_mesh: ["inferred_unused_callee_in"]})
                write_argument_set(argument, USE_SET, meshes)
        end = terminator_of(self._func.body)
        for index, value in enumerate(end.operands):
            is_unused = calls and all(call.results[index].first_use is None for call in calls)
            if is_unused and is_local(value.type):
                mesh = self._mesh_in(made_on(value))
                if mesh is None and not self._infers_transfers:
                    message = f"unused output {index} of @{name} cannot be placed on a mesh"
                    self._problem(Diagnostic("SDY-M109", message, span_of(end)))
                    break
                write_result_set(self._func, index, MeshSet({mesh or self._first_mesh: ["inferred_unused_callee_out"]}))

    def _problem(self, problem: Diagnostic) -> None:
        self._problems.append(replace(problem, hint=_HINT))

    def _mesh_in(self, made: MeshSet | None, used: MeshSet | None = None) -> str | None:
        """Return the mesh to choose of those on which a value can be made; None if there is none."""
        if made is None:
            return preferred(used) or self._first_mesh
        return preferred(made, used.names() if used else ())

    def _visit_body(self) -> None:
        self._visit_ops(self._func.body.block.ops)
        for argument in self._func.body.block.args:
            write_argument_set(argument, USE_SET, None)

    def _visit_ops(self, ops: Iterable[Operation]) -> None:
        for op in list(ops):
            if isinstance(op, FragmentOp):
                continue
            if is_meshless(op):
                self._visit_meshless(op)
            elif isinstance(op, BroadcastOp | ReduceOp):
                self._place_operands(op)
            elif op.name.startswith("mpmd."):
                for region in op.regions:
                    self._visit_ops(region.block.ops)

    def _visit_meshless(self, op: Operation) -> None:
        if not has_tensor_result(op):
            self._wrap_resultless(op)
        elif is_used(op):
            op.attributes.pop(USE_SET, None)
        else:
            self._assign_unused(op)

    def _assign_unused(self, op: Operation) -> None:
        mesh = self._mesh_in(op_set(op, SRC_SET))
        if mesh is None and not self._infers_transfers:
            raise failure(
                op, "SDY-M109", f"{op.name} cannot be placed on a mesh: its operands are on different ones", _HINT
            )
        place = InsertPoint.after(op)
        for result in op.results:
            if isinstance(result.type, TensorType):
                insert(AssignOp(result, mesh or self._first_mesh, "inferred_unused"), place, op.location)
        op.attributes.pop(USE_SET, None)

    def _wrap_resultless(self, op: Operation) -> None:
        made = op_set(op, SRC_SET)
        if made is not None and not made:
            message = f"{op.name} has no result and cannot be placed on a mesh: its operands are on different ones"
            raise failure(op, "SDY-M109", message, _HINT)
        meshes = [self._first_mesh] if made is None else sorted(made.names(), key=in_mesh_order)
        erase_sets(op)
        for mesh in meshes[:1] if is_pure(op) else meshes:
            wrap_in_fragment(op, mesh, "infer_mesh_wrap_resultless_ops")
        erase(op)

    def _place_operands(self, op: BroadcastOp | ReduceOp) -> None:
        used = op_set(op, USE_SET)
        origin = "broadcast" if isinstance(op, BroadcastOp) else "reduce"
        for index, operand in enumerate(list(op.operands)):
            mesh = self._mesh_in(made_on(operand), used) or preferred(used) or self._first_mesh
            set_operand(op, index, unassigned(op, assigned(op, operand, mesh, origin)))
        op.attributes.pop(USE_SET, None)
