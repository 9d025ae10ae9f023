"""What manual and named computations ask for. Source: docs/spec/01, 5.5 and 5.6 (MC and NC)."""

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
from sdy.model.manual_axes import manual_prefix
from sdy.model.mesh_table import common_mesh
from sdy.model.sharding import DimSharding, TensorSharding


def check_manual_axes_not_nested(op: ManualComputationOp, scope: Scope) -> None:
    """MC1."""
    axis = next((axis for axis in op.manual_axes.data if axis in scope.manual_axes), None)
    if axis is not None:
        outer = next(outer for outer in scope.manual if axis in outer.manual_axes.data)
        note = Note("this one is manual on the axis already", span_of(outer))
        raise failure(op, "SDY-D111", f'the axis "{axis}" is manual in an enclosing computation', notes=(note,))


def check_manual(op: ManualComputationOp, scope: Scope) -> None:
    """MC2 to MC8."""
    block = op.body.block
    returned = () if block.last_op is None else block.last_op.operand_types
    in_shardings, out_shardings = op.in_shardings.data, op.out_shardings.data
    _check_side(op, scope, "operand", in_shardings, op.operand_types, block.arg_types)
    _check_side(op, scope, "result", out_shardings, op.result_types, returned)
    if not op.manual_axes.data or not (in_shardings or out_shardings):
        return
    shared = common_mesh((*in_shardings, *out_shardings), scope.meshes)
    if shared is None:
        raise failure(op, "SDY-D116", "the shardings are on different meshes")
    for axis in op.manual_axes.data:
        if not shared.mesh.has_axis(axis):
            hint = unknown_axis(AxisRef(axis), shared.mesh).hint
            raise failure(op, "SDY-D117", f'the mesh has no axis "{axis}" to be manual on', hint)


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
        raise failure(op, "SDY-D112", f"{len(global_types)} {side}s, and {len(local_types)} values in the body")
    for index, (sharding, whole, shard) in enumerate(zip(shardings, global_types, local_types, strict=False)):
        where = side if len(global_types) == 1 else f"{side} {index}"
        _check_manual_first(op, sharding, where)
        if isinstance(whole, ShapedType):
            expected = _shard_type(op, scope, sharding, whole, where)
            if shard != expected:
                message = f"{where}: the value in the body has the type {shard}, a shard has {expected}"
                raise failure(op, "SDY-D115", message)


def _check_manual_first(op: ManualComputationOp, sharding: TensorSharding, where: str) -> None:
    """MC4."""
    manual_axes = op.manual_axes.data
    for index, dim in enumerate(sharding.dims):
        prefix = manual_prefix(dim, manual_axes)
        late = next((ref for ref in dim.axes[len(prefix) :] if ref.name in manual_axes), None)
        if late is not None:
            message = f"{where}: in dim {index} the manual axis {late} comes after {dim.axes[len(prefix)]}"
            raise failure(op, "SDY-D113", message)


def _shard_type(
    op: ManualComputationOp, scope: Scope, sharding: TensorSharding, whole: ShapedType, where: str
) -> Attribute:
    """The type that a value of type `whole` has in the body (MC5, MC6)."""
    sizes = list(whole.get_shape())
    for index, dim in enumerate(sharding.dims):
        pieces = _manual_pieces(op, scope, sharding, dim)
        if sizes[index] == DYNAMIC_INDEX:
            continue
        if sizes[index] % pieces:
            message = f"{where}: dim {index} of size {sizes[index]} is cut into {pieces} by the manual axes"
            raise failure(op, "SDY-D114", message)
        sizes[index] //= pieces
    return TensorType(cast("TensorType[Attribute]", whole).get_element_type(), sizes)


def _manual_pieces(op: ManualComputationOp, scope: Scope, sharding: TensorSharding, dim: DimSharding) -> int:
    axes = manual_prefix(dim, op.manual_axes.data)
    mesh = scope.mesh_of(sharding)
    assert mesh is not None  # the sharding was checked
    return sharded_size(axes, mesh)


def check_named_results(op: NamedComputationOp) -> None:
    """NC1."""
    terminator = op.body.block.last_op
    returned = [] if terminator is None else list(terminator.operand_types)
    if returned != list(op.result_types):
        given, wanted = _listed(returned), _listed(op.result_types)
        raise failure(op, "SDY-D121", f"the body returns {given}, the op has the results {wanted}")


def check_named(op: NamedComputationOp, scope: Scope) -> None:
    """NC2 to NC5."""
    arguments = op.body.block.arg_types
    if len(arguments) != len(op.operands):
        raise failure(op, "SDY-D121", f"{len(op.operands)} operands for {len(arguments)} arguments of the body")
    for index, (argument, operand) in enumerate(zip(arguments, op.operand_types, strict=True)):
        if argument != operand:
            raise failure(op, "SDY-D121", f"argument {index} of the body is {argument}, the operand {operand}")
    for side, shardings, types in (
        ("operand", op.in_shardings, op.operand_types),
        ("result", op.out_shardings, op.result_types),
    ):
        if shardings is not None:
            scope.require_each_fits(op, shardings.data, types, side)


def _listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"
