"""Give each call its own copy of the function, so that every call can be sharded differently.

    before  call @f, call @f            func @f
    after   call @f, call @f_0          func @f, func @f_0 {sdy.original_func_name = "f"}

Source: docs/spec/04, 2.10.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of
from sdy.passes.rewriting.call_graph import UniqueNames, add_copy, call_sites, callee_name, callee_of, callees_first
from sdy.passes.rewriting.op_order import keep_order


class FlattenCallGraphPass(ModulePass):
    """Copy functions that are called more than once."""

    name = "sdy-flatten-call-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit calls, callees before callers. The first call keeps the original function."""
        functions, names = functions_of(op), UniqueNames(op)
        called: set[str] = set()
        calls, is_order_kept = call_sites(op), True
        for func in callees_first(op, calls):
            for call in calls[func.sym_name.data]:
                if callee_name(call) in called:
                    copy = add_copy(callee_of(call, functions), op, functions, names)
                    is_order_kept = False
                    call.properties["callee"] = SymbolRefAttr(copy.sym_name.data)
                called.add(callee_name(call))
        if is_order_kept:
            keep_order(op)
