"""Read and write the sets of meshes of ops, functions and loops. Source: docs/spec/07, 4.15 and 4.16."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import block_of
from sdy.mpmd.dialect.functions import is_entry_point
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, UnassignOp
from sdy.mpmd.dialect.regions import ForOp
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, argument_attribute, get, update
from sdy.mpmd.passes.tools.mesh_sets import SRC_SET, USE_SET, MeshSet, union


def op_set(op: Operation, name: str) -> MeshSet | None:
    """Return the use set or src set of an op, or None."""
    return MeshSet.read(op.attributes.get(name))


def argument_set(argument: BlockArgument, name: str) -> MeshSet | None:
    """Return a set of an argument of a function or a loop, or None."""
    return MeshSet.read(argument_attribute(argument, name))


def write_argument_set(argument: BlockArgument, name: str, meshes: MeshSet | None) -> None:
    """Write a set of an argument of a function or a loop, or remove it."""
    op = argument.block.parent_op()
    assert op is not None  # functions and loops have the arguments
    change = None if meshes is None else meshes.attribute()
    update(op, ARG_ATTRS, len(argument.block.args), argument.index, {name: change})


def result_set(func: FuncOp, index: int) -> MeshSet | None:
    """Return the use set of a function result, or None."""
    return MeshSet.read(get(func, RES_ATTRS, index, USE_SET))


def write_result_set(func: FuncOp, index: int, meshes: MeshSet) -> None:
    """Write the use set of a function result."""
    update(func, RES_ATTRS, len(func.function_type.outputs), index, {USE_SET: meshes.attribute()})


class SetQueries:
    """Answers, from the sets that ops have, where the uses of a value and the value itself can be."""

    def __init__(self, module: ModuleOp) -> None:
        self._functions = functions_of(module)

    def callee(self, call: CallOp) -> FuncOp:
        """Return the function that a call calls."""
        return self._functions[call.callee_name]

    def used_on(self, value: SSAValue, base: MeshSet | None = None) -> MeshSet | None:
        """Return the union of a set and the use sets of all users of a value."""
        for use in value.uses:
            base = union(base, self._use_set(use, value))
        return base

    def _use_set(self, use: Use, value: SSAValue) -> MeshSet | None:
        user = use.operation
        is_barrier = isinstance(user, BroadcastOp | ReduceOp) and not isinstance(value.owner, BroadcastOp)
        if is_barrier or isinstance(user, UnassignOp):
            return None
        block = block_of(value)
        around = None if block is None else block.find_ancestor_op_in_block(user)
        if around is not None and around is not user:
            return op_set(around, USE_SET)
        if isinstance(user, CallOp):
            return argument_set(self.callee(user).body.block.args[use.index], USE_SET)
        if isinstance(user, ReturnOp):
            func = user.parent_op()
            assert isinstance(func, FuncOp)  # what a return ends
            return None if is_entry_point(func) else result_set(func, use.index)
        if isinstance(user, ForOp):
            return argument_set(user.body.block.args[use.index], USE_SET)
        return op_set(user, USE_SET)

    def source_of(self, value: SSAValue) -> SSAValue:
        """Return the value that a callee or a loop returns in place of a result of a call or loop."""
        while isinstance(value, OpResult) and isinstance(value.op, CallOp | ForOp):
            body = self.callee(value.op).body if isinstance(value.op, CallOp) else value.op.body
            value = terminator_of(body).operands[value.index]
        return value

    def made_on(self, value: SSAValue) -> MeshSet | None:
        """Return the meshes on which a value can be made without a transfer; None for any."""
        source = self.source_of(value)
        if isinstance(source.owner, Block):
            assert isinstance(source, BlockArgument)
            is_known = isinstance(source.owner.parent_op(), FuncOp | ForOp)
            return argument_set(source, SRC_SET) if is_known else None
        return None if isinstance(source.owner, AssignOp) else op_set(source.owner, SRC_SET)
