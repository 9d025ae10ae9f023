"""Verification of manual and named computations. Source: docs/spec/01, 5.5 and 5.6 (rules MC and NC)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType, TensorType
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.verification.sdy_scope import Scope, failure
from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.checks.check_axes import unknown_axis
from sdy.model.mesh_table import common_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import manual_prefix


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
