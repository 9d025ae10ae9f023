"""Merge equal constants, and move them to the start of their scope.

    before  func @main { %0 = add ...  %c = constant 1  %d = constant 1 ... }
    after   func @main { %c = constant 1  %0 = add ... }

Scopes are isolated bodies: functions, manual and named computations. Only `stablehlo.constant` is merged; the first
of several equal ones stays, with its attributes. Source: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from sdy.dialects.ir.walk import of_class
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.passes.rewriting.insertion import replace_by


def unique_constants(ops: Sequence[Operation]) -> None:
    """Merge equal constants among `ops`, in pre-order, and move them to the start of their scope."""
    scopes: dict[Block, _Scope] = {}
    for op in of_class(ops, ConstantOp):
        block = _scope_of(op)
        if block is not None:
            scopes.setdefault(block, _Scope(block)).take(op)


class _Scope:
    """The constants found so far in one body."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._by_value: dict[object, ConstantOp] = {}
        self._settled: set[Operation] = set()

    def take(self, op: ConstantOp) -> None:
        """Merge `op` with an equal constant, or move it after the constants before it."""
        kept = self._by_value.setdefault((op.value, op.output.type), op)
        if kept is not op:
            replace_by(op, kept.output)
            return
        first = self._block.first_op
        leads = op.parent is self._block and (op is first or op.prev_op in self._settled)
        if not leads and first is not None:
            op.detach()
            self._block.insert_op_before(op, first)
        self._settled.add(op)


def _scope_of(op: Operation) -> Block | None:
    block = op.parent
    while block is not None:
        parent = block.parent_op()
        if parent is None or isinstance(parent, ModuleOp):
            return None
        if parent.has_trait(IsolatedFromAbove):
            return block
        block = parent.parent
    return None
