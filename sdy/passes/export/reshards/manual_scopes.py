"""Along which axes of the mesh an op stands inside of manual computations: devices have tensors of their own there."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.regions import ManualComputationOp


class ManualScopes:
    """The manual axes around the ops of a module, also around those of functions that are called from inside."""

    def __init__(self, module: ModuleOp) -> None:
        self._of_function: dict[str, frozenset[str]] = {}
        calls = ops_of(module, CallOp) if ops_of(module, ManualComputationOp) else []
        pending = calls
        while pending:
            grown = {call.callee.root_reference.data for call in pending if self._pass_on(call)}
            pending = [call for call in calls if _function_around(call) in grown]

    def around(self, op: Operation) -> frozenset[str]:
        """The names of the axes. Of a function with several callers, those of all."""
        own = {
            name for parent in _parents(op) if type(parent) is ManualComputationOp for name in parent.manual_axes.data
        }
        return self._of_function.get(_function_around(op), frozenset()) | own

    def _pass_on(self, call: CallOp) -> bool:
        """Let the callee have the axes around the call; whether it had not all of them."""
        callee, axes = call.callee.root_reference.data, self.around(call)
        known = self._of_function.get(callee, frozenset())
        self._of_function[callee] = known | axes
        return not axes <= known


def _function_around(op: Operation) -> str:
    return next((parent.sym_name.data for parent in _parents(op) if type(parent) is FuncOp), "")


def _parents(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()
