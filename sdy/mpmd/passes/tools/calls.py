"""The calls of functions with a topology. Source: docs/spec/07, 4.3."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.walk import ops_of
from sdy.mpmd.dialect.functions import mpmd_functions
from sdy.mpmd.dialect.ops import CallOp
from sdy.mpmd.passes.tools.uses import is_used


def calls_by_callee(module: ModuleOp) -> dict[str, list[CallOp]]:
    """Return the calls with used results in functions with a topology and in their loops, by the name of the callee."""
    calls: dict[str, list[CallOp]] = {}
    for func in mpmd_functions(module):
        for call in ops_of(func, CallOp):
            if is_used(call):
                calls.setdefault(call.callee_name, []).append(call)
    return calls
