"""What the collectives of the `sdy` dialect ask for: the operand's sharding, and what the op makes of it.

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
from sdy.model.checks.check_unreduced import check_unreduced_transition
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open


def check_collective_structure(op: CollectiveOp, scope: Scope) -> None:
    """C1 to C4."""
    given, out = sharding_of(op.tensor), op.out_sharding.data
    if given is None and op.NEEDS_SHARDING:
        raise failure(op, "SDY-D201", "the tensor has no sharding")
    scope.require_fits(op, out, op.result.type, "out_sharding")
    if isinstance(op, ReducingOp) and op.kind is None:
        raise failure(op, "SDY-D143", f"{op.reduction_op.value.data} is no kind of reduction")
    if given is None:
        return
    mesh = scope.mesh_of(given)
    if not op.MAY_CHANGE_MESH and mesh is not None and mesh != scope.mesh_of(out):
        message = f"the tensor is on {_named(given)}, the result on {_named(out)}"
        raise failure(op, "SDY-D202", message, notes=_notes(op.tensor))
    if given.rank != out.rank:
        raise failure(op, "SDY-D203", f"the sharding of the tensor has rank {given.rank}, out_sharding {out.rank}")


def check_collective(op: CollectiveOp, scope: Scope) -> None:
    """What the kind of collective asks for."""
    out = op.out_sharding.data
    given = sharding_of(op.tensor) or fully_open(out.mesh, rank_of_type(op.tensor.type))
    mesh = scope.mesh_of(out)
    assert mesh is not None  # `check_collective_structure` saw to it
    problem = _problem(op, given, out, mesh, scope)
    is_about_meshes = problem is not None and problem.code in ("SDY-D231", "SDY-D232")
    raise_problem(problem, op, notes=_notes(op.tensor) if is_about_meshes else ())


def _problem(
    op: CollectiveOp, given: TensorSharding, out: TensorSharding, mesh: Mesh, scope: Scope
) -> Diagnostic | None:
    match op:
        case AllGatherOp():
            return model.check_all_gather(given, out, op.gathering_axes.data, mesh)
        case AllSliceOp():
            return model.check_all_slice(given, out, op.slicing_axes.data, mesh)
        case AllToAllOp():
            return model.check_all_to_all(given, out, op.params.data, mesh)
        case CollectivePermuteOp():
            return model.check_collective_permute(given, out, scope.mesh_of(given) or mesh, mesh)
        case AllReduceOp():
            problem = model.check_all_reduce(given, out, op.reduction_axes.data, mesh)
            return problem or _check_reduction(op, given, out, scope)
        case ReduceScatterOp():
            problem = _check_reduction(op, given, out, scope)
            return problem or model.check_reduce_scatter(given, out, op.reduce_scatter_axes.data, mesh)
        case ShardedToUnreducedOp():
            return model.check_sharded_to_unreduced(given, out, op.axes.data, mesh)
        case ReplicatedToUnreducedOp():
            return model.check_replicated_to_unreduced(given, out, op.axes.data, mesh)
        case _:
            return None


def _check_reduction(op: ReducingOp, given: TensorSharding, out: TensorSharding, scope: Scope) -> Diagnostic | None:
    """AR5 and RD1."""
    return check_unreduced_transition([given], [out], scope.meshes, introduced_by=None, removed_by=op.kind)


def _named(sharding: TensorSharding) -> str:
    return f"@{sharding.mesh}" if isinstance(sharding.mesh, str) else "a mesh given inline"


def _notes(tensor: SSAValue) -> tuple[Note, ...]:
    source = op_of(tensor)
    return () if source is None else (Note("the tensor comes from here", span_of(source)),)
