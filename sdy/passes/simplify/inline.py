"""Replace calls by the bodies of the functions they call. Source: docs/spec/04, 6.4.

before  func @main(%x) { %0 = call @f(%x)  return %0 }   func private @f(%y) { %0 = negate %y  return %0 }
after   func @main(%x) { %0 = negate %x  return %0 }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of
from sdy.passes.rewriting.call_graph import callee_name, callees_first, calls_in
from sdy.passes.rewriting.insertion import replace_by_body
from sdy.passes.rewriting.op_order import forget_order
from sdy.passes.simplify.canonicalize import simplify
from sdy.passes.simplify.symbol_dce import SymbolDcePass


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Inline all calls except recursive ones, simplify what changed, and remove uncalled private functions.

    `default-pipeline=""` leaves out what simplifies. MLIR's other options are accepted: the result does not depend on
    the number of iterations, and all calls are inlined.
    """

    name = "inline"

    default_pipeline: Literal["canonicalize", ""] = "canonicalize"
    max_iterations: int = 4
    inlining_threshold: int = -1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline callees first, so that an inlined body contains no calls."""
        functions = functions_of(op)
        # A function is added once its own calls are inlined, so a call of a function that is missing here is recursive.
        ready: set[str] = set()
        for func in callees_first(op):
            calls = [call for call in calls_in(func) if callee_name(call) in ready]
            for call in calls:
                inline_call(call, functions[callee_name(call)])
            if calls and self.default_pipeline:
                simplify(func)
            if func.sym_name.data not in map(callee_name, calls_in(func)):
                ready.add(func.sym_name.data)
        forget_order(op)
        SymbolDcePass().apply(ctx, op)


def computes_only(func: FuncOp, returned: tuple[type[Operation], ...], others: tuple[type[Operation], ...]) -> bool:
    """Return whether a function returns what one of the ops `returned` computes, with no ops but these and `others`."""
    if func.is_declaration:
        return False
    *ops, end = func.body.block.ops
    is_returned = len(end.operands) == 1 and isinstance(end.operands[0].owner, returned)
    return is_returned and all(isinstance(op, (*returned, *others)) for op in ops)


def inline_call(call: CallOp, callee: FuncOp) -> None:
    """Replace a call by the body of its function."""
    replace_by_body(call, callee.body.clone(), call.operands)
