"""Simplify named computations before they become fragments. Source: docs/spec/07, 5.7 and 5.8."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, redirect_uses, replace_uses
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.stablehlo.control import OptimizationBarrierOp
from sdy.mpmd.dialect.regions import NamedComputationOp
from sdy.mpmd.dialect.terminator import ReturnOp as MpmdReturnOp
from sdy.mpmd.passes.tools.calls import block_of_op
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.greedy import rewrite_greedily
from sdy.mpmd.passes.tools.region_simplifier import simplify_region_op
from sdy.passes.rewriting.insertion import erase, insert_before


class InsertNamelessCloneOfNegligibleOpsPass(FunctionPass):
    """Compute constants that a named computation returns outside of it, so that they are not tied to its mesh."""

    name = "mpmd-insert-nameless-clone-of-negligible-ops"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Copy each returned op without operands and with one result, for all users but the function's return."""
        for computation in ops_of(func, NamedComputationOp):
            last: Operation = computation
            for result, value in zip(computation.results, terminator_of(computation.body).operands, strict=True):
                source = value.owner
                if isinstance(source, Operation) and not source.operands and len(source.results) == 1:
                    copy = copy_with_regions(source)
                    block_of_op(last).insert_op_after(copy, last)
                    last = copy
                    uses = [use for use in result.uses if not isinstance(use.operation, ReturnOp)]
                    redirect_uses(result, uses, copy.results[0])


class SimplifyNamedComputationsPass(FunctionPass):
    """Drop the operands and results of named computations that are repeated, passed through or unused."""

    name = "mpmd-simplify-named-computations"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Let barriers pass arguments that are only returned, and simplify the computations."""
        rewrite_greedily(func, (_bypass_barrier,))
        rewrite_greedily(func, (_simplify,), simplifies_regions=True)


def _simplify(op: Operation) -> list[Operation] | None:
    return simplify_region_op(op) if isinstance(op, NamedComputationOp) else None


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
    kept = [index for index, bypasses in enumerate(bypassing) if not bypasses]
    new = OptimizationBarrierOp.create(
        operands=[op.operands[index] for index in kept],
        result_types=[op.results[index].type for index in kept],
        attributes=op.attributes,
    )
    insert_before(op, new)
    replacements: dict[int, SSAValue] = dict(zip(kept, new.results, strict=True))
    for index, result in enumerate(op.results):
        replace_uses(result, replacements.get(index, op.operands[index]))
    erase(op)
    return [new]


def _is_only_returned(value: SSAValue) -> bool:
    uses = list(value.uses)
    return len(uses) == 1 and isinstance(uses[0].operation, MpmdReturnOp)
