"""Place the inputs and outputs of functions on meshes. Source: docs/spec/07, 5.2, 5.4 and 5.13."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import redirect_uses, set_operand, set_type
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.types import MeshTensorType, mesh_type
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, MEMORY_KIND, RES_ATTRS, get, update
from sdy.mpmd.passes.import_.assignments import input_of, output_of, parse_constraints, parse_indexed_assignment
from sdy.mpmd.passes.import_.sets import SetQueries, argument_set, op_set
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point
from sdy.mpmd.passes.tools.mesh_sets import USE_SET, MeshSet, intersection
from sdy.mpmd.passes.tools.uses import move_to_start
from sdy.passes.rewriting.insertion import insert_before


def place_argument(
    argument: BlockArgument,
    mesh: str,
    origin: str | None = None,
    *,
    memory_kind: str | None = None,
    after: Operation | None = None,
) -> UnassignOp:
    """Give an argument the type of a mesh tensor, and let its uses use an unassign of it, which is returned.

    The unassign stands at the start of the block, or right after another op.
    """
    uses = list(argument.uses)
    set_type(argument, MeshTensorType.of(mesh, argument.type, memory_kind=memory_kind))
    unassign = UnassignOp(argument, origin)
    block = argument.block
    if after is None:
        block.add_op(unassign)
        move_to_start(unassign, block)
    else:
        block.insert_op_after(unassign, after)
    unassign.location = argument.location
    redirect_uses(argument, uses, unassign.result)
    return unassign


def place_result(end: Operation, index: int, mesh: str, origin: str | None, *, memory_kind: str | None = None) -> None:
    """Return an assign of a value to a mesh in its place."""
    assign = AssignOp(end.operands[index], mesh, origin, memory_kind=memory_kind)
    insert_before(end, assign)
    set_operand(end, index, assign.result)


@dataclass(frozen=True)
class EnforceInputOutputEquishardingPass(FunctionPass):
    """Transfer an output to the type of an input, where a constraint ties them."""

    name = "mpmd-enforce-input-output-equisharding"
    ON = is_mpmd_entry_point

    constraints: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert the transfers before the return."""
        types = func.function_type
        end = terminator_of(func.body)
        for source, target in parse_constraints(self.constraints):
            expected, value = input_of(func, source).type, output_of(func, target)
            if types.outputs.data[target] != expected:
                transfer = TransferOp(value, mesh_type(expected))
                insert_before(end, transfer)
                set_operand(end, target, transfer.result)
        update_function_type(func)


@dataclass(frozen=True)
class MapInputOutputToMeshPass(FunctionPass):
    """Place inputs and outputs of the entry points on the meshes that the user chose."""

    name = "mpmd-map-input-output-to-mesh"
    ON = is_mpmd_entry_point

    input_assignment: str = ""
    output_assignment: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert unassigns of the inputs, in order, and assigns of the outputs."""
        last: Operation | None = None
        for index, place in parse_indexed_assignment(self.input_assignment).items():
            last = place_argument(
                input_of(func, index), place.mesh, "user_in", memory_kind=place.memory_kind, after=last
            )
        end = terminator_of(func.body)
        for index, place in parse_indexed_assignment(self.output_assignment).items():
            output_of(func, index)
            place_result(end, index, place.mesh, "user_out", memory_kind=place.memory_kind)
        update_function_type(func)
        for name, values in ((ARG_ATTRS, func.body.block.args), (RES_ATTRS, end.operands)):
            for index, value in enumerate(values):
                is_in_type = isinstance(value.type, MeshTensorType) and value.type.memory_kind is not None
                if is_in_type and get(func, name, index, MEMORY_KIND) is not None:
                    update(func, name, len(values), index, {MEMORY_KIND: None})


@dataclass(frozen=True)
class AssignUsingInputOutputConstraintsPass(ModulePass):
    """Place an input and an output that a constraint ties on one mesh, where that needs no transfer."""

    name = "mpmd-infer-mesh-assign-using-input-output-constraints"

    constraints: str = ""
    verbose_logging: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the entry points."""
        queries = SetQueries(op)
        for func in mpmd_functions(op):
            if is_entry_point(func):
                for source, target in parse_constraints(self.constraints):
                    _place_both(func, source, target, queries)
                update_function_type(func)


def _place_both(func: FuncOp, source: int, target: int, queries: SetQueries) -> None:
    end = terminator_of(func.body)
    argument, value = input_of(func, source), output_of(func, target)
    mesh = _common_mesh(argument, value, queries)
    if mesh is None:
        return
    if is_local(value.type):
        place_result(end, target, mesh, "io_constraint_out")
    if is_local(argument.type):
        place_argument(argument, mesh, "io_constraint_in")


def _common_mesh(argument: BlockArgument, value: SSAValue, queries: SetQueries) -> str | None:
    """Return the mesh for an input and an output, or None if there is none for both."""
    if isinstance(value.type, MeshTensorType):
        return value.type.mesh
    placed = argument.type.mesh if isinstance(argument.type, MeshTensorType) else None
    needed = argument_set(argument, USE_SET) or MeshSet() if placed is None else MeshSet({placed: []})
    used = MeshSet() if isinstance(value.owner, Block) else op_set(value.owner, USE_SET) or MeshSet()
    made = queries.made_on(value)
    if placed is None and not needed:
        return used.preferred() or (None if made is None else made.preferred())
    for common in (intersection(used, needed) if used else None, intersection(needed, made)):
        if common:
            return common.preferred()
    return None


def is_local(value_type: Attribute) -> bool:
    """Return whether a value is a tensor that is not on a mesh yet."""
    return isinstance(value_type, TensorType)
