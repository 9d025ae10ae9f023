"""Check that unreduced axes appear and disappear only at ops that allow it. Does not change the module.

    %1 = stablehlo.negate %0      of %0 with [{}], unreduced={"a"}: an error, unless %1 is unreduced on "a" too

Source: docs/spec/04, 4.16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import post_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy import collectives as sdy_collectives
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_before_barriers, sharding_of
from sdy.dialects.stablehlo import collectives as hlo_collectives
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.grammar.write import write_axis_list
from sdy.model.axis import AxisList
from sdy.model.checks.check_sharding import check_unreduced_transition
from sdy.model.mesh_table import MeshTable
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.model.sharding_update import without_manual_axes
from sdy.partitioner.on_shards.reduction_kinds import body_kinds


class VerifyUnreducedAxesPass(ModulePass):
    """Check the unreduced axes of every op."""

    name = "sdy-verify-unreduced-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all functions. Raises: SdyError SDY-D244 with the first error of each function."""
        meshes, functions = meshes_of(op), functions_of(op)
        errors = [_first_error(func, meshes, functions) for func in functions.values()]
        found = [error for error in errors if error is not None]
        if found:
            raise SdyError(*found)


def _first_error(func: FuncOp, meshes: MeshTable, functions: Mapping[str, FuncOp]) -> Diagnostic | None:
    """Return the first error of a function; ops in regions are checked before their parent."""
    for op in post_order(func):
        problem = _problem(op, meshes, functions)
        if problem is not None:
            return replace(problem, message=f"{op.name}: {problem.message}", span=span_of(op))
    return None


def _problem(op: Operation, meshes: MeshTable, functions: Mapping[str, FuncOp]) -> Diagnostic | None:
    if isinstance(op, ReshardOp | ShardingConstraintOp):  # they verify their own unreduced axes
        return None
    if isinstance(op, CallOp):
        return _check_call(op, functions)
    if isinstance(op, ReturnOp | SdyReturnOp):
        return _check_return(op)
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return None
    if isinstance(op, sdy_collectives.ReducingOp):
        return _check_reducing(op)
    if isinstance(op, hlo_collectives.AllReduceOp | hlo_collectives.ReduceScatterOp):
        kind = _body_kind(op)
        operands, results = [sharding_of(op.operands[0])], [sharding_of(op.results[0])]
        return _check(operands, results, meshes, introduced_by=None, removed_by=kind)
    if isinstance(op, ReduceOp):
        return _check(_operand_shardings(op.inputs), _results(op), meshes, introduced_by=_body_kind(op))
    return _check(_operand_shardings(op.operands), _results(op), meshes, introduced_by=ReductionKind.SUM)


def _check(
    operands: Sequence[TensorSharding | None],
    results: Sequence[TensorSharding | None],
    meshes: MeshTable,
    *,
    introduced_by: ReductionKind | None,
    removed_by: ReductionKind | None = None,
) -> Diagnostic | None:
    before = [sharding for sharding in operands if sharding is not None]
    after = [sharding for sharding in results if sharding is not None]
    if not any(sharding.unreduced for sharding in (*before, *after)):
        return None
    return check_unreduced_transition(before, after, meshes, introduced_by=introduced_by, removed_by=removed_by)


def _results(op: Operation) -> list[TensorSharding | None]:
    return [sharding_of(result) for result in op.results]


def _operand_shardings(values: Sequence[SSAValue]) -> list[TensorSharding | None]:
    """Return the shardings of operands; None for a resharded one, whose unreduced axes may change."""
    return [None if _is_resharded(value) else sharding_before_barriers(value) for value in values]


def _is_resharded(value: SSAValue) -> bool:
    while isinstance(value.owner, PropagationBarrierOp):
        value = value.owner.input
    return isinstance(value.owner, ReshardOp | ShardingConstraintOp)


def _body_kind(op: Operation) -> ReductionKind | None:
    """Return the reduction kind of all results of an op; None if they differ or have none."""
    kinds = set(body_kinds(op.regions[0]) or ())
    return kinds.pop() if len(kinds) == 1 else None


def _check_reducing(op: sdy_collectives.ReducingOp) -> Diagnostic | None:
    """Check that an all-reduce has unreduced axes; the axes it removes are verified with the op."""
    if sharding_of(op.tensor) is None:
        return Diagnostic("SDY-D244", "expected an operand with unreduced axes, but it has no sharding")
    return None


def _check_call(op: CallOp, functions: Mapping[str, FuncOp]) -> Diagnostic | None:
    callee = functions.get(op.callee.root_reference.data)
    if callee is None:
        return None
    for index, operand in enumerate(op.operands):
        if not _is_resharded(operand):
            name = f"operand {index} and argument {index} of @{callee.sym_name.data}"
            problem = _check_same(sharding_before_barriers(operand), argument_sharding(callee, index), name)
            if problem is not None:
                return problem
    for index, result in enumerate(op.results):
        name = f"result {index} of @{callee.sym_name.data} and of the call"
        problem = _check_same(function_result_sharding(callee, index), sharding_of(result), name)
        if problem is not None:
            return problem
    return None


def _check_return(op: ReturnOp | SdyReturnOp) -> Diagnostic | None:
    parent = op.parent_op()
    for index, operand in enumerate(op.operands):
        target = _target(parent, index)
        if target is None or _is_resharded(operand):
            continue
        problem = _check_same(sharding_before_barriers(operand), target, f"operand {index} and result {index}")
        if problem is not None:
            return problem
    return None


def _target(parent: Operation | None, index: int) -> TensorSharding | None:
    """Return the sharding of the result that a returned value becomes, as seen inside the region."""
    if isinstance(parent, FuncOp):
        return function_result_sharding(parent, index)
    if parent is None or index >= len(parent.results):
        return None
    sharding = sharding_of(parent.results[index])
    if sharding is not None and isinstance(parent, ManualComputationOp):
        return without_manual_axes(sharding, parent.manual_axes.data)
    return sharding


def _check_same(before: TensorSharding | None, after: TensorSharding | None, name: str) -> Diagnostic | None:
    """Check that two shardings of one value are unreduced on the same axes."""
    axes, others = _unreduced(before), _unreduced(after)
    if set(axes) == set(others):
        return None
    message = f"{name} must be unreduced on the same axes, got {write_axis_list(axes)} and {write_axis_list(others)}"
    return Diagnostic("SDY-D244", message, hint="insert a reshard between them")


def _unreduced(sharding: TensorSharding | None) -> AxisList:
    return () if sharding is None else sharding.unreduced
