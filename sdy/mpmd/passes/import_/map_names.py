"""Simplify named computations, and turn them and named tensors into fragments and assigned values.

Source: docs/spec/07, 5.3, 5.5 and 5.7 to 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Severity
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, redirect_uses, replace_uses
from sdy.dialects.ir.walk import enclosing, ops_of, post_order
from sdy.dialects.stablehlo.control import OptimizationBarrierOp
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, NamedTensorOp, ReduceOp
from sdy.mpmd.dialect.regions import FragmentOp, NamedComputationOp
from sdy.mpmd.dialect.syntax import ReturnOp as MpmdReturnOp
from sdy.mpmd.passes.import_.function_ends import Place, parse_assignment
from sdy.mpmd.passes.tools.fragments import assigned, on_mesh, unassigned
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, any_function
from sdy.mpmd.passes.tools.rewriting import rewrite_greedily, simplify_region_ops, without_values
from sdy.mpmd.passes.tools.uses import distinct
from sdy.passes.rewriting.insertion import erase, insert, insert_before, replace_by_body


class InsertNamelessCloneOfNegligibleOpsPass(FunctionPass):
    """Compute constants that a named computation returns outside of it, so that they are not tied to its mesh."""

    name = "mpmd-insert-nameless-clone-of-negligible-ops"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Copy each returned op without operands and with one result, for all users but the function's return."""
        for computation in ops_of(func, NamedComputationOp):
            place = InsertPoint.after(computation)
            for result, value in zip(computation.results, terminator_of(computation.body).operands, strict=True):
                source = value.owner
                if isinstance(source, Operation) and not source.operands and len(source.results) == 1:
                    copy = insert(copy_with_regions(source), place, source.location)
                    uses = [use for use in result.uses if not isinstance(use.operation, ReturnOp)]
                    redirect_uses(result, uses, copy.results[0])


class SimplifyNamedComputationsPass(FunctionPass):
    """Drop the operands and results of named computations that are repeated, passed through or unused."""

    name = "mpmd-simplify-named-computations"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Let barriers pass arguments that are only returned, and simplify the computations."""
        rewrite_greedily(func, (_bypass_barrier,))
        simplify_region_ops(func, NamedComputationOp)


def _bypass_barrier(op: Operation) -> list[Operation] | None:
    """Remove the operands of a barrier that are arguments, and whose results are only returned."""
    if not isinstance(op, OptimizationBarrierOp) or not isinstance(op.parent_op(), NamedComputationOp):
        return None
    bypassing = [
        isinstance(operand, BlockArgument) and _is_only_returned(result)
        for operand, result in zip(op.operands, op.results, strict=True)
    ]
    if not any(bypassing):
        return None
    dropped = [index for index, bypasses in enumerate(bypassing) if bypasses]
    for index in dropped:
        replace_uses(op.results[index], op.operands[index])
    return [without_values(op, dropped, dropped)]


def _is_only_returned(value: SSAValue) -> bool:
    uses = list(value.uses)
    return len(uses) == 1 and isinstance(uses[0].operation, MpmdReturnOp)


_HINT = "add it to the assignment, as name@mesh"


@dataclass(frozen=True)
class MapNamedOpsToMpmdOpsPass(FunctionPass):
    """Replace named computations by fragments on the meshes of the assignment, and named tensors by values there."""

    name = "mpmd-map-named-ops-to-mpmd-ops"

    assignment: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the named ops of a function; a named tensor without a mesh is dropped."""
        places = parse_assignment(self.assignment)
        for op in post_order(func):
            if isinstance(op, NamedComputationOp):
                place = places.get(op.origin.data.name)
                if place is None:
                    message = f"named computation {op.origin.data} is not assigned to a mesh"
                    findings.error(op, "SDY-M106", message, _HINT)
                else:
                    _to_fragment(op, place)
            elif isinstance(op, NamedTensorOp):
                _place_tensor(op, places.get(op.tensor_name.data))


def _to_fragment(op: NamedComputationOp, place: Place) -> None:
    name = op.origin.data.name
    inputs = {operand: assigned(op, operand, place.mesh, name) for operand in distinct(op.operands)}
    fragment = FragmentOp.make(
        place.mesh,
        [op.origin.data],
        [inputs[operand] for operand in op.operands],
        [on_mesh(result.type, place.mesh) for result in op.results],
        op.detach_region(op.body),
        stage=place.stage,
    )
    insert_before(op, fragment)
    for result, output in zip(op.results, fragment.results, strict=True):
        replace_uses(result, unassigned(op, output, name))
    erase(op)


def _place_tensor(op: NamedTensorOp, place: Place | None) -> None:
    value: SSAValue = op.tensor
    if place is not None:
        name = op.tensor_name.data
        assign = insert_before(op, AssignOp(op.tensor, place.mesh, name, memory_kind=place.memory_kind))
        value = unassigned(op, assign.result, name)
    replace_uses(op.result, value)
    erase(op)


@dataclass(frozen=True)
class InlineNestedUserExposedOpsPass(FunctionPass):
    """Remove the names inside of named computations, which must be assigned to the same mesh."""

    name = "mpmd-inline-nested-user-exposed-ops"

    assignment: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Inline nested named computations, and drop nested named tensors, broadcasts and reductions."""
        places = parse_assignment(self.assignment)
        for op in post_order(func):
            parent = enclosing(op, NamedComputationOp)
            if parent is None:
                continue
            if isinstance(op, NamedComputationOp | NamedTensorOp):
                if not _agrees(op, parent, places, findings):
                    return
                if isinstance(op, NamedComputationOp):
                    replace_by_body(op, op.body, op.operands)
                    continue
            if isinstance(op, NamedTensorOp | BroadcastOp | ReduceOp):
                replace_uses(op.result, op.operands[0])
                erase(op)


def _agrees(
    op: NamedComputationOp | NamedTensorOp, parent: NamedComputationOp, places: dict[str, Place], findings: Findings
) -> bool:
    """Note an error unless a nested name is assigned like the one around it; return whether that one is assigned."""
    outer = places.get(parent.origin.data.name)
    if outer is None:
        message = f"named computation {parent.origin.data} is not assigned to a mesh"
        findings.error(parent, "SDY-M106", message, _HINT)
        return False
    is_computation = isinstance(op, NamedComputationOp)
    name = op.origin.data.name if is_computation else op.tensor_name.data
    inner = places.get(name)
    if inner is None:
        return True
    is_equal = inner == outer if is_computation else inner.mesh == outer.text
    if not is_equal:
        what = "mesh or stage" if is_computation else "mesh"
        message = f"{name} is nested in {parent.origin.data.name}, but assigned to another {what}"
        findings.error(op, "SDY-M107", f"{message}: {inner.text}, not {outer.text}")
    return True


class ValidateNamedOpsInMpmdFuncPass(FunctionPass):
    """Report names outside of functions with a topology; as in Shardy, the pass succeeds all the same."""

    name = "mpmd-validate-named-ops-in-mpmd-func"
    ON = any_function

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each named op that is neither directly in a function with a topology nor in an op of the dialect."""
        for op in post_order(func):
            if not isinstance(op, NamedComputationOp | NamedTensorOp):
                continue
            parent = op.parent_op()
            is_allowed = is_mpmd(parent) if isinstance(parent, FuncOp) else _is_of_mpmd(parent)
            if not is_allowed:
                kind = "computations" if isinstance(op, NamedComputationOp) else "tensors"
                message = f"named {kind} can only be in functions with a topology and in ops of the dialect mpmd"
                findings.warn(op, "SDY-M107", message, Severity.ERROR)


def _is_of_mpmd(op: Operation | None) -> bool:
    return op is not None and op.name.startswith("mpmd.")
