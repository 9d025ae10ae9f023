"""Verification of the collectives of the `sdy` dialect: the sharding of the operand and that of the result.

Source: docs/spec/01, 4.7 and 5.12 to 5.20.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, Note
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ReduceScatterOp,
    ReducingOp,
    ReplicatedToUnreducedOp,
    ShardedToUnreducedOp,
)
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import sharding_of
from sdy.dialects.verification.sdy_scope import Scope, failure, raise_problem
from sdy.model.checks import check_collective as model
from sdy.model.checks.check_sharding import check_unreduced_transition
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open


def check_collective_structure(op: CollectiveOp, scope: Scope) -> None:
    """Check meshes, ranks and the presence of an operand sharding (rules C1 to C4)."""
    in_sharding, out_sharding = sharding_of(op.tensor), op.out_sharding.data
    if in_sharding is None and op.NEEDS_SHARDING:
        raise failure(op, "SDY-D201", "the operand must have a sharding")
    scope.require_fits(op, out_sharding, op.result.type, "out_sharding")
    if isinstance(op, ReducingOp) and op.kind is None:
        raise failure(op, "SDY-D143", f"{op.reduction_op.value.data} is not a valid reduction kind")
    if in_sharding is None:
        return
    mesh = scope.mesh_of(in_sharding)
    if not op.MAY_CHANGE_MESH and mesh is not None and mesh != scope.mesh_of(out_sharding):
        meshes = f"{_mesh_text(in_sharding)} and {_mesh_text(out_sharding)}"
        message = f"operand and result must be on the same mesh, got {meshes}"
        raise failure(op, "SDY-D202", message, notes=_notes(op.tensor))
    if in_sharding.rank != out_sharding.rank:
        ranks = f"{in_sharding.rank} and {out_sharding.rank}"
        raise failure(op, "SDY-D203", f"the operand sharding and out_sharding must have the same rank, got {ranks}")


def check_collective(op: CollectiveOp, scope: Scope) -> None:
    """Check the rules of the specific collective."""
    out_sharding = op.out_sharding.data
    in_sharding = sharding_of(op.tensor) or fully_open(out_sharding.mesh, rank_of_type(op.tensor.type))
    mesh = scope.mesh_of(out_sharding)
    assert mesh is not None  # verified by `check_collective_structure`
    problem = _problem(op, in_sharding, out_sharding, mesh, scope)
    is_about_meshes = problem is not None and problem.code in ("SDY-D231", "SDY-D232")
    raise_problem(problem, op, notes=_notes(op.tensor) if is_about_meshes else ())


def _problem(
    op: CollectiveOp, in_sharding: TensorSharding, out_sharding: TensorSharding, mesh: Mesh, scope: Scope
) -> Diagnostic | None:
    match op:
        case AllGatherOp():
            return model.check_all_gather(in_sharding, out_sharding, op.gathering_axes.data, mesh)
        case AllSliceOp():
            return model.check_all_slice(in_sharding, out_sharding, op.slicing_axes.data, mesh)
        case AllToAllOp():
            return model.check_all_to_all(in_sharding, out_sharding, op.params.data, mesh)
        case CollectivePermuteOp():
            return model.check_collective_permute(in_sharding, out_sharding, scope.mesh_of(in_sharding) or mesh, mesh)
        case AllReduceOp():
            problem = model.check_all_reduce(in_sharding, out_sharding, op.reduction_axes.data, mesh)
            return problem or _check_reduction(op, in_sharding, out_sharding, scope)
        case ReduceScatterOp():
            problem = _check_reduction(op, in_sharding, out_sharding, scope)
            return problem or model.check_reduce_scatter(in_sharding, out_sharding, op.reduce_scatter_axes.data, mesh)
        case ShardedToUnreducedOp():
            return model.check_sharded_to_unreduced(in_sharding, out_sharding, op.axes.data, mesh)
        case ReplicatedToUnreducedOp():
            return model.check_replicated_to_unreduced(in_sharding, out_sharding, op.axes.data, mesh)
        case _:
            return None


def _check_reduction(
    op: ReducingOp, in_sharding: TensorSharding, out_sharding: TensorSharding, scope: Scope
) -> Diagnostic | None:
    """Check that unreduced axes change only as the reduction allows (rules AR5 and RD1)."""
    return check_unreduced_transition(
        [in_sharding], [out_sharding], scope.meshes, introduced_by=None, removed_by=op.kind
    )


def _mesh_text(sharding: TensorSharding) -> str:
    return f"@{sharding.mesh}" if isinstance(sharding.mesh, str) else "an inlined mesh"


def _notes(tensor: SSAValue) -> tuple[Note, ...]:
    producer = op_of(tensor)
    return () if producer is None else (Note("the operand is defined here", span_of(producer)),)
