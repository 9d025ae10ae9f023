"""The manual axes of the computations around an op, along which each device has its own tensors."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.regions import ManualComputationOp


class ManualScopes:
    """The manual axes around the ops of a module, in functions called from manual computations too."""

    def __init__(self, module: ModuleOp) -> None:
        self._of_function: dict[str, frozenset[str]] = {}
        calls = ops_of(module, CallOp) if ops_of(module, ManualComputationOp) else []
        pending = calls
        while pending:
            grown = {call.callee.root_reference.data for call in pending if self._propagate(call)}
            pending = [call for call in calls if _function_around(call) in grown]

    def around(self, op: Operation) -> frozenset[str]:
        """Return the names of the axes, over all callers of the function."""
        own = {
            name for parent in _parents(op) if type(parent) is ManualComputationOp for name in parent.manual_axes.data
        }
        return self._of_function.get(_function_around(op), frozenset()) | own

    def _propagate(self, call: CallOp) -> bool:
        """Add the axes around the call to the callee; return whether any was new."""
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
