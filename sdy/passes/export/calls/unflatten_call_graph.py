"""Merge copies of a function that ended up with equal shardings.

    before  call @f, call @f_0          @f and @f_0 {sdy.original_func_name = "f"}, with equal shardings
    after   call @f, call @f

Ensures: no `sdy.original_func_name`, no `sdy.func_manual_axes`. Source: docs/spec/04, 4.14.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.shardings import argument_shardings, function_result_shardings
from sdy.model.mesh_table import MeshTable
from sdy.passes.rewriting.call_graph import ORIGINAL_NAME, callee_of, original_name
from sdy.passes.rewriting.op_order import keep_order, op_order

MANUAL_AXES = "sdy.func_manual_axes"
FunctionKey = tuple[object, ...]


@dataclass(frozen=True)
class UnflattenCallGraphPass(ModulePass):
    """Retarget calls of equal functions to one of them."""

    name = "sdy-unflatten-call-graph"

    dedup_functions_fully: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose a function per key, then retarget all calls."""
        functions, meshes = functions_of(op), meshes_of(op)
        callees = [(call, callee_of(call, functions)) for call in op_order(op).of(CallOp)]
        order = [callee for _, callee in callees]
        chosen = _most_called(order, meshes) if self.dedup_functions_fully else _first(order, meshes)
        for call, callee in callees:
            key = _short_key(callee) if self.dedup_functions_fully else _full_key(callee, meshes)
            call.properties["callee"] = SymbolRefAttr(chosen[key].sym_name.data)
        for func in functions.values():
            func.attributes.pop(ORIGINAL_NAME, None)
            func.attributes.pop(MANUAL_AXES, None)
        keep_order(op)


def _first(callees: list[FuncOp], meshes: MeshTable) -> dict[FunctionKey, FuncOp]:
    """Return per key the function that is called first."""
    chosen: dict[FunctionKey, FuncOp] = {}
    for callee in callees:
        chosen.setdefault(_full_key(callee, meshes), callee)
    return chosen


def _most_called(callees: list[FuncOp], meshes: MeshTable) -> dict[FunctionKey, FuncOp]:
    """Return per original function a copy with the shardings that most calls use."""
    chosen: dict[FunctionKey, FuncOp] = {}
    for callee in callees:
        chosen.setdefault(_short_key(callee), callee)
    calls: Counter[FunctionKey] = Counter()
    for callee in callees:
        key = _full_key(callee, meshes)
        calls[key] += 1
        if calls[key] > calls[_full_key(chosen[_short_key(callee)], meshes)]:
            chosen[_short_key(callee)] = callee
    return chosen


def _short_key(func: FuncOp) -> FunctionKey:
    return original_name(func), func.attributes.get(MANUAL_AXES)


def _full_key(func: FuncOp, meshes: MeshTable) -> FunctionKey:
    return (*_short_key(func), argument_shardings(func, meshes), function_result_shardings(func, meshes))
