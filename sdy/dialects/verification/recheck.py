"""Verification of the ops of a valid module that have changed, and of those that depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import blocks_of, of_class, ops_in, pre_order
from sdy.dialects.sdy.ops import ConstantOp, MeshOp, PropagationBarrierOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.verification.attribute_checks import PROPAGATION_EDGES, AttributeChecks
from sdy.dialects.verification.function_types import check_call
from sdy.dialects.verification.op_checks import (
    ISOLATED_OPS,
    VERIFIED_BY_SIGNATURE,
    OpChecks,
    check_alone,
    check_is_last,
    check_terminator,
    is_terminator,
)
from sdy.dialects.verification.op_tree import OpTree
from sdy.dialects.verification.sdy_ops import OPS_WITH_STRUCTURE_RULES, OPS_WITH_USE_RULES, check_structure, check_use
from sdy.dialects.verification.sdy_scope import Scope
from sdy.dialects.verification.sdy_shardings import check_function_shardings, check_symbols
from sdy.dialects.verification.snapshot import Changes
from sdy.dialects.verification.verify_module import CALL_OPS
from sdy.dialects.verification.visibility import check_is_visible

# Whether operands are visible is checked apart, so an isolated op can be verified by its signature, too.
_BY_SIGNATURE = VERIFIED_BY_SIGNATURE | ISOLATED_OPS
# The rules of these ops depend on ops elsewhere.
_WITH_LOCAL_RULES = frozenset[type[Operation]]((ConstantOp, PropagationBarrierOp))
_WITH_CONTEXT = (OPS_WITH_STRUCTURE_RULES | OPS_WITH_USE_RULES) - _WITH_LOCAL_RULES
# Whether an op of another class is valid may depend on anything.
_LOCAL = _BY_SIGNATURE | {FuncOp, CallOp, ReturnOp}


class OpsToRecheck:
    """The ops of a module that are verified again after each change, or after particular changes."""

    def __init__(self, tree: OpTree) -> None:
        self.tree = tree
        present = frozenset(map(type, tree.ops))
        terminators = frozenset(filter(is_terminator, present))
        foreign = present - _LOCAL
        special = _of_classes(tree.ops, _WITH_CONTEXT | foreign | terminators | CALL_OPS | {FuncOp, ModuleOp})
        self.with_context = _of_classes(special, _WITH_CONTEXT)
        self.foreign = _of_classes(special, foreign)
        self.terminators = _of_classes(special, terminators)
        self.calls = cast("list[CallOp | CompositeOp]", _of_classes(special, CALL_OPS))
        self.functions = of_class(special, FuncOp)
        self.meshes = of_class(special, MeshOp)
        self.have_manual = ManualComputationOp in present
        # Nested modules have other meshes; and the order of functions does not matter, unlike that of other ops.
        top = ops_in(tree.blocks[0])
        self.is_usual = len(of_class(special, ModuleOp)) == 1 and not any(op.results or op.operands for op in top)


def _of_classes(ops: Sequence[Operation], classes: frozenset[type[Operation]]) -> list[Operation]:
    return [op for op in ops if type(op) in classes]


@dataclass(frozen=True)
class Recheck:
    """One verification of what has changed. `scope` has the meshes of the module, which have not."""

    module: ModuleOp
    ops: OpsToRecheck
    scope: Scope
    op_checks: OpChecks
    attribute_checks: AttributeChecks

    def check(self, changes: Changes, functions_before: int) -> None:
        """Verify what has changed. Raises: SdyError for a problem, which need not be the first in the module."""
        have_other_count = len(self.ops.functions) != functions_before
        if have_other_count:
            changes.touch(self.ops.functions)  # a function is the main function if it is the only one
        touched = self._with_dependents(changes.touched)
        self._check_ops(touched)
        if changes.order:
            for op in self.ops.terminators:
                if op.next_op is not None:
                    check_is_last(op)
        have_other_functions = have_other_count or any(type(op) is FuncOp for op in touched)
        for op in self.ops.calls if have_other_functions else touched:
            if isinstance(op, CallOp | CompositeOp):
                check_call(op)
        self._check_shardings([*touched, *changes.attributes])

    def _with_dependents(self, touched: dict[int, Operation]) -> list[Operation]:
        """Return the ops and those inside that depend on them, in program order.

        A return depends on the type of its function, and shardings depend on the manual axes around them.
        """
        found = dict(touched)
        for op in touched.values():
            if isinstance(op, FuncOp):
                found.update((id(block.last_op), block.last_op) for block in op.body.blocks if block.last_op)
            elif isinstance(op, ManualComputationOp):
                found.update((id(inner), inner) for inner in pre_order(op))
        rows = self.ops.tree.rows
        return sorted(found.values(), key=lambda op: rows[id(op)])  # a check may assume that enclosing ops are valid

    def _check_ops(self, touched: Sequence[Operation]) -> None:
        """Check each op alone, the ends of its blocks, and that its operands are visible."""
        for op in touched:
            if op.regions:
                for block in blocks_of(op):
                    check_terminator(block, op)
            if type(op) in _BY_SIGNATURE:
                self.op_checks.check_by_signature(op)
            else:
                check_alone(op)
            for operand in operands_of(op):
                check_is_visible(operand, op, self._is_defined_before)
        for op in self.ops.foreign:
            check_alone(op)

    def _is_defined_before(self, result: OpResult, op: Operation) -> bool:
        producer, rows = result.op, self.ops.tree.rows
        return result in producer.results and rows.get(id(producer), len(rows)) < rows[id(op)]

    def _check_shardings(self, changed: Sequence[Operation]) -> None:
        """Check the `sdy.` attributes of changed ops, and every op whose rules depend on others."""
        with_edges = self._ops_with_edges() if self.attribute_checks.have_seen_edges else ()
        for op in (*changed, *with_edges):
            if op.attributes:
                scope = Scope({}) if op is self.module else self._scope_of(op)
                self.attribute_checks.check(op, scope)
            if isinstance(op, FuncOp):
                check_function_shardings(op, self._scope_of(op))
            elif type(op) in _WITH_LOCAL_RULES:
                check_structure(op, self._scope_of(op))
        for op in self.ops.with_context:
            check_structure(op, self._scope_of(op))
        check_symbols(self.module)
        for op in self.ops.with_context:
            check_use(op, self._scope_of(op))

    def _ops_with_edges(self) -> list[Operation]:
        """Return the ops with propagation edges, whose validity depends on the shardings of operands."""
        return [op for op in self.ops.tree.ops if PROPAGATION_EDGES in op.attributes]

    def _scope_of(self, op: Operation) -> Scope:
        if not self.ops.have_manual:
            return self.scope
        enclosing: list[ManualComputationOp] = []
        parent = op.parent_op()
        while parent is not None:
            if isinstance(parent, ManualComputationOp):
                enclosing.append(parent)
            parent = parent.parent_op()
        scope = self.scope
        for manual in reversed(enclosing):
            scope = scope.within(manual)
        return scope
