"""Verification rules of each op of the `sdy` dialect that its declaration cannot express.

`check_structure` runs when the walk visits an op, `check_use` after all ops of the module have a valid structure.
Source: docs/spec/01, 4.7 and 5.1 to 5.20; the letters in docstrings are the rules of that chapter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, ShapedType, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, Note
from sdy.dialects.data_flow import has_data_flow_edges, op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy import collectives
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
from sdy.dialects.sdy.enums import BarrierDirection, enum_value
from sdy.dialects.sdy.ops import (
    ConstantOp,
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ReshardOp,
    ShardingConstraintOp,
    type_of_elements,
)
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.sdy.types import rank_of_type, value_shape
from sdy.dialects.shardings import sharding_before_barriers, sharding_of
from sdy.dialects.verification.sdy_scope import Scope, failure, raise_problem
from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.checks import check_collective as model
from sdy.model.checks.check_mesh import unknown_axis
from sdy.model.checks.check_sharding import check_unreduced_transition
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh
from sdy.model.shape import Shapeless
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding
from sdy.model.sharding_update import fully_open, manual_prefix


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
            return model.check_appended_axes(in_sharding, out_sharding, op.slicing_axes.data, mesh)
        case AllToAllOp():
            return model.check_all_to_all(in_sharding, out_sharding, op.params.data, mesh)
        case CollectivePermuteOp():
            return model.check_collective_permute(in_sharding, out_sharding, scope.mesh_of(in_sharding) or mesh, mesh)
        case AllReduceOp():
            problem = model.check_all_reduce(in_sharding, out_sharding, op.reduction_axes.data, mesh)
            return problem or _check_reduction(op, in_sharding, out_sharding, scope)
        case ReduceScatterOp():
            problem = _check_reduction(op, in_sharding, out_sharding, scope)
            return problem or model.check_appended_axes(in_sharding, out_sharding, op.reduce_scatter_axes.data, mesh)
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


def check_manual_axes_not_nested(op: ManualComputationOp, scope: Scope) -> None:
    """Check that no manual axis is also manual in an enclosing computation (rule MC1)."""
    axis = next((axis for axis in op.manual_axes.data if axis in scope.manual_axes), None)
    if axis is not None:
        outer = next(outer for outer in scope.manual if axis in outer.manual_axes.data)
        note = Note("the enclosing computation is here", span_of(outer))
        raise failure(op, "SDY-D111", f'axis "{axis}" is already manual in an enclosing computation', notes=(note,))


def check_manual(op: ManualComputationOp, scope: Scope) -> None:
    """Check rules MC2 to MC8."""
    block = op.body.block
    returned = () if block.last_op is None else block.last_op.operand_types
    in_shardings, out_shardings = op.in_shardings.data, op.out_shardings.data
    _check_side(op, scope, "operand", in_shardings, op.operand_types, block.arg_types)
    _check_side(op, scope, "result", out_shardings, op.result_types, returned)
    if not op.manual_axes.data or not (in_shardings or out_shardings):
        return
    common = common_mesh((*in_shardings, *out_shardings), scope.meshes)
    if common is None:
        raise failure(op, "SDY-D116", "all shardings must be on the same mesh")
    for axis in op.manual_axes.data:
        if not common.mesh.has_axis(axis):
            hint = unknown_axis(AxisRef(axis), common.mesh).hint
            raise failure(op, "SDY-D117", f'manual axis "{axis}" is not an axis of the mesh', hint)


def _check_side(
    op: ManualComputationOp,
    scope: Scope,
    side: str,
    shardings: Sequence[TensorSharding],
    global_types: Sequence[Attribute],
    local_types: Sequence[Attribute],
) -> None:
    if not (shardings or global_types or local_types):
        return
    scope.require_each_fits(op, shardings, global_types, side)
    if len(global_types) != len(local_types):
        raise failure(
            op, "SDY-D112", f"expected one value in the body per {side} ({len(global_types)}), got {len(local_types)}"
        )
    for index, (sharding, global_type, local_type) in enumerate(
        zip(shardings, global_types, local_types, strict=False)
    ):
        where = side if len(global_types) == 1 else f"{side} {index}"
        _check_manual_axes_first(op, sharding, where)
        if isinstance(global_type, ShapedType):
            expected = _shard_type(op, scope, sharding, global_type, where)
            if local_type != expected:
                message = f"{where}: the value in the body must have the shard type {expected}, got {local_type}"
                raise failure(op, "SDY-D115", message)


def _check_manual_axes_first(op: ManualComputationOp, sharding: TensorSharding, where: str) -> None:
    """Check that manual axes precede free axes in each dim (rule MC4)."""
    manual_axes = op.manual_axes.data
    for index, dim in enumerate(sharding.dims):
        prefix = manual_prefix(dim, manual_axes)
        misplaced = next((ref for ref in dim.axes[len(prefix) :] if ref.name in manual_axes), None)
        if misplaced is not None:
            free = dim.axes[len(prefix)]
            message = f"{where}: manual axis {misplaced} of dim {index} must come before free axis {free}"
            raise failure(op, "SDY-D113", message)


def _shard_type(
    op: ManualComputationOp, scope: Scope, sharding: TensorSharding, global_type: ShapedType, where: str
) -> Attribute:
    """Return the type that a value of type `global_type` has in the body (rules MC5 and MC6)."""
    sizes = list(global_type.get_shape())
    for index, dim in enumerate(sharding.dims):
        shard_count = _manual_shard_count(op, scope, sharding, dim)
        if sizes[index] == DYNAMIC_INDEX:
            continue
        if sizes[index] % shard_count:
            size = f"size {sizes[index]} of dim {index}"
            message = f"{where}: {size} must be divisible by {shard_count}, the number of shards"
            raise failure(op, "SDY-D114", message)
        sizes[index] //= shard_count
    return TensorType(cast("TensorType[Attribute]", global_type).get_element_type(), sizes)


def _manual_shard_count(op: ManualComputationOp, scope: Scope, sharding: TensorSharding, dim: DimSharding) -> int:
    axes = manual_prefix(dim, op.manual_axes.data)
    mesh = scope.mesh_of(sharding)
    assert mesh is not None  # the sharding was checked
    return sharded_size(axes, mesh)


def check_named_results(op: NamedComputationOp) -> None:
    """Check that the body returns the result types of the op (rule NC1)."""
    terminator = op.body.block.last_op
    returned = [] if terminator is None else list(terminator.operand_types)
    if returned != list(op.result_types):
        actual, expected = _listed(returned), _listed(op.result_types)
        raise failure(op, "SDY-D121", f"the body must return the result types {expected}, got {actual}")


def check_named(op: NamedComputationOp, scope: Scope) -> None:
    """Check rules NC2 to NC5."""
    arguments = op.body.block.arg_types
    if len(arguments) != len(op.operands):
        raise failure(
            op, "SDY-D121", f"expected one body argument per operand ({len(op.operands)}), got {len(arguments)}"
        )
    for index, (argument, operand) in enumerate(zip(arguments, op.operand_types, strict=True)):
        if argument != operand:
            message = f"argument {index} of the body must have the operand's type {operand}, got {argument}"
            raise failure(op, "SDY-D121", message)
    for side, shardings, types in (
        ("operand", op.in_shardings, op.operand_types),
        ("result", op.out_shardings, op.result_types),
    ):
        if shardings is not None:
            scope.require_each_fits(op, shardings.data, types, side)


def _listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def check_structure(op: Operation, scope: Scope) -> None:
    """Check the rules of phase B for an op of `STRUCTURE_RULES`."""
    STRUCTURE_RULES[type(op)](op, scope)


def check_use(op: Operation, scope: Scope) -> None:
    """Check the rules of phase C for an op of `USE_RULES`."""
    USE_RULES[type(op)](op, scope)


def _check_mesh(op: MeshOp) -> None:
    if not isinstance(op.parent_op(), ModuleOp):
        raise failure(op, "SDY-D101", "a mesh must be directly inside a module")


def _check_constant(op: ConstantOp) -> None:
    value_type, shape = type_of_elements(op.value), value_shape(op.result.type)
    if isinstance(shape, Shapeless) or None in shape:
        raise failure(op, "SDY-D142", f"expected a result type with a static shape, got {op.result.type}")
    if value_type != op.result.type and not _is_quantized_form_of(op.result.type, value_type):
        raise failure(
            op, "SDY-D142", f"value and result must have the same type, got {value_type} and {op.result.type}"
        )


def _is_quantized_form_of(quantized: Attribute, stored: Attribute | None) -> bool:
    """Return whether `stored` is the storage type of the quantized tensor type `quantized`."""
    if not isinstance(quantized, TensorType) or not isinstance(stored, TensorType):
        return False
    storage = str(cast("TensorType[Attribute]", stored).element_type).lstrip("sui")
    text = str(cast("TensorType[Attribute]", quantized).element_type)
    return quantized.get_shape() == stored.get_shape() and bool(re.match(rf"!quant\.uniform<[iu]{storage}\b", text))


def _check_barrier(op: PropagationBarrierOp) -> None:
    """Check rule PB1."""
    direction = enum_value(op.allowed_direction, BarrierDirection)
    if direction is None:
        raise failure(op, "SDY-D143", f"{op.allowed_direction.value.data} is not a valid direction")
    if direction is BarrierDirection.BOTH:
        raise failure(op, "SDY-D141", "allowed_direction must not be BOTH: such a barrier has no effect")


def _check_reshard(op: ShardingConstraintOp | ReshardOp, scope: Scope) -> None:
    """Check rules SC1 and SC2, or RS1 and RS2."""
    sharding = op.sharding.data
    scope.require_fits(op, sharding, op.result.type)
    old_sharding = sharding_before_barriers(op.input)
    if old_sharding is not None:
        raise_problem(
            check_unreduced_transition(
                [old_sharding],
                [sharding],
                scope.meshes,
                introduced_by=ReductionKind.SUM,
                removed_by=old_sharding.unreduced_kind,
            ),
            op,
        )


def _check_data_flow_edge(op: DataFlowEdgeOp, scope: Scope) -> None:
    """Check rules DE1 to DE4."""
    _check_edge(op)
    producer = op.input.owner
    if isinstance(producer, Operation) and producer.name.startswith("sdy.") and not has_data_flow_edges(producer):
        note = Note(f"{producer.name} has no data flow edges", span_of(producer))
        message = f"the operand must be a result of an op with data flow edges, got {producer.name}"
        raise failure(op, "SDY-D133", message, notes=(note,))
    if op.sharding is not None:
        scope.require_fits(op, op.sharding.data, op.result.type)


def _check_func_data_flow_edge(op: FuncDataFlowEdgeOp) -> None:
    """Check rules FE1 to FE4."""
    _check_edge(op)
    if isinstance(op.input, BlockArgument):
        owner = op.input.owner.parent_op()
        if not isinstance(owner, FuncOp):
            actual = "nothing" if owner is None else owner.name
            raise failure(op, "SDY-D134", f"expected an argument of func.func, got a block argument of {actual}")
    elif not isinstance(op.input.owner, CallOp):
        assert not isinstance(op.input.owner, Block)
        raise failure(op, "SDY-D134", f"expected a result of func.call, got a result of {op.input.owner.name}")


def _check_edge(op: DataFlowEdgeOp | FuncDataFlowEdgeOp) -> None:
    """Check rules DE1 and DE2, or FE1 and FE2."""
    shape = value_shape(op.result.type)
    if isinstance(shape, Shapeless) or None in shape:
        raise failure(op, "SDY-D131", f"expected a type with a static shape, got {op.result.type}")
    if not op.input.has_one_use():
        raise failure(op, "SDY-D132", f"the operand must have one use, got {op.input.uses.get_length()}")


def _any_scope(check: Callable[[Any], None]) -> Callable[[Any, Scope], None]:
    return lambda op, _: check(op)


# Each function takes ops of its class.
STRUCTURE_RULES: dict[type[Operation], Callable[[Any, Scope], None]] = {
    MeshOp: _any_scope(_check_mesh),
    ConstantOp: _any_scope(_check_constant),
    PropagationBarrierOp: _any_scope(_check_barrier),
    ManualComputationOp: check_manual_axes_not_nested,
    NamedComputationOp: _any_scope(check_named_results),
    **dict.fromkeys(collectives.OPS, check_collective_structure),
}
USE_RULES: dict[type[Operation], Callable[[Any, Scope], None]] = {
    ShardingConstraintOp: _check_reshard,
    ReshardOp: _check_reshard,
    ManualComputationOp: check_manual,
    NamedComputationOp: check_named,
    DataFlowEdgeOp: _check_data_flow_edge,
    FuncDataFlowEdgeOp: _any_scope(_check_func_data_flow_edge),
    **dict.fromkeys(collectives.OPS, check_collective),
}
