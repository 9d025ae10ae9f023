"""A program of several meshes as one of a single device, at any stage of its compilation. Source: docs/spec/08, 5.2.

before  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: T) { abs %x }   %2 = mpmd.transfer %1 : (M) -> N
after   %1 = abs %0                                                          uses of %2 use %1
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.facts.traits import passes_through, terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses, set_type
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import blocks_of, post_order, pre_order
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.control import ReturnOp, WhileOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.mpmd.dialect.functions import MESH_SHAPE, TOPOLOGY, update_function_type
from sdy.mpmd.dialect.ops import CallOp, FragmentCallOp, ReduceOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp, NamedComputationOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.tools.meshless import step_of
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.passes.rewriting.insertion import erase, replace_by_body, replace_op


def first_on_mesh(module: ModuleOp) -> Operation | None:
    """Return the first op that defines a value on a mesh of a topology; None if a program has at most names."""
    return next(
        (op for op in pre_order(module) if any(isinstance(value.type, MeshTensorType) for value in values_of(op))), None
    )


def without_meshes(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module that computes the same on one device; see `remove_meshes`."""
    copy = copy_with_regions(module)
    remove_meshes(copy)
    return copy


def remove_meshes(module: ModuleOp) -> None:
    """Remove names, meshes and transfers from a module.

    Control operands of fragments are dropped with them. Shardings are kept; a run on one device ignores them.
    """
    for op in post_order(module):
        if isinstance(op, FuncOp):
            op.attributes.pop(TOPOLOGY, None)
            op.attributes.pop(MESH_SHAPE, None)
        elif op.name.startswith("mpmd."):
            _replace(op)
    for op in pre_order(module):
        for value in values_of(op):
            if isinstance(value.type, MeshTensorType):
                set_type(value, value.type.tensor)
    for func in functions_of(module).values():
        if not func.is_declaration:
            update_function_type(func)


def values_of(op: Operation) -> list[SSAValue]:
    """Return the values that an op defines: its results, and the arguments of its blocks."""
    return [*op.results, *(argument for block in blocks_of(op) for argument in block.args)]


def _replace(op: Operation) -> None:
    match op:
        case FragmentOp() | NamedComputationOp():
            replace_by_body(op, op.body, op.operands[: len(op.body.block.args)])
        case CallOp() | FragmentCallOp():
            call = FuncCallOp(SymbolRefAttr(op.callee_name), op.operands, list(op.result_types))
            replace_op(op, call)
        case ForOp():
            _replace_loop(op)
        case ReduceOp():
            emit, total = Emitter(op, Style()), op.tensors[0]
            for value in op.tensors[1:]:
                total = emit.binary(step_of(op.reduction.data), total, value)
            replace_uses(op.result, total)
            erase(op)
        case _ if passes_through(op):
            for result, operand in zip(op.results, op.operands, strict=True):
                replace_uses(result, operand)
            erase(op)
        case _:
            pass  # the terminator of a region, which is replaced with the op around it


def _replace_loop(loop: ForOp) -> None:
    """Replace a loop by a `while` that carries the index as its last value."""
    before = Emitter(loop, Style())
    body, end = loop.body.block, terminator_of(loop.body)
    index = body.args[-1]
    zero, one, count = (before.constant(tensor_of(index), [number]) for number in (0, 1, loop.iterations.value.data))
    following = Emitter(end, Style()).binary(AddOp, index, one)
    replace_op(end, ReturnOp.create(operands=[*end.operands, following]))
    condition = Block(arg_types=body.arg_types)
    condition.add_op(answer := ReturnOp.create())
    inside = Emitter(answer, Style(), loop.location)
    answer.operands = [inside.compare(ComparisonDirection.LT, condition.args[-1], count)]
    regions = [Region(condition), loop.detach_region(loop.body)]
    loop_op = before.op(WhileOp, [*loop.operands, zero], body.arg_types, regions=regions)
    for result, replacement in zip(loop.results, loop_op.results, strict=False):
        replace_uses(result, replacement)
    erase(loop)
