"""Canonicalization of reshards. Source: docs/spec/01, 7.2."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import shape_of_type
from sdy.dialects.stablehlo.shape import ReshapeOp, TransposeOp
from sdy.model.equivalence import is_equivalent_across_reshape
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding


class ReshardOfReshard(RewritePattern):
    """Merge two consecutive reshards into the second, if the first has no other users."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshardOp, rewriter: PatternRewriter) -> None:
        inner = op.input.owner
        if isinstance(inner, ReshardOp) and op.input.has_one_use():
            direct = ReshardOp(inner.input, op.sharding.data)
            direct.location = op.location
            rewriter.replace(op, direct)
            rewriter.erase(inner)


class ReuseReshard(RewritePattern):
    """Reuse an earlier reshard of the same data, in the same or another shape.

    The reshapes and transposes before the later reshard are repeated after the earlier one.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshardOp, rewriter: PatternRewriter) -> None:
        steps = _steps_to(op.input)
        root = steps[0].operands[0] if steps else op.input
        target = _before_steps(op.sharding.data, steps)
        mesh = resolve_mesh(target.mesh, visible_meshes(op))
        shape = _static_shape(op.result.type)
        if mesh is None or shape is None:
            return
        alike = (other for other in _reshards_of(root) if _is_same_layout(other, target, shape, mesh))
        earlier = [other for other in alike if other.is_before_in_block(op)]
        if earlier:
            block = op.parent_block()
            assert block is not None  # both ops are in one block
            first = min(earlier, key=block.get_operation_index)
            rewriter.replace(op, [], [_redo(steps, first.result, root.type, rewriter)])


def _steps_to(value: SSAValue) -> list[ReshapeOp | TransposeOp]:
    """Return the reshapes and transposes that produce `value`, in program order."""
    steps: list[ReshapeOp | TransposeOp] = []
    while isinstance(value.owner, ReshapeOp | TransposeOp):
        steps.append(value.owner)
        value = value.owner.operand
    return steps[::-1]


def _before_steps(sharding: TensorSharding, steps: list[ReshapeOp | TransposeOp]) -> TensorSharding:
    """Return the sharding of the input of `steps` that corresponds to this one of their result, if there is one."""
    for step in reversed(steps):
        if isinstance(step, TransposeOp):
            dims = list[DimSharding](sharding.dims)
            for dim, source in zip(sharding.dims, step.permutation.iter_values(), strict=True):
                dims[source] = dim
            sharding = replace(sharding, dims=tuple(dims), unreduced_kind=ReductionKind.SUM)
        elif _rank(step.operand) != _rank(step.result):
            break
    return sharding


def _reshards_of(root: SSAValue) -> list[ReshardOp]:
    """Return the reshards of `root` and of reshapes of it."""
    found: list[ReshardOp] = []
    pending, seen = [root], {root}
    while pending:
        for use in pending.pop().uses:
            user: Operation = use.operation
            if isinstance(user, ReshardOp):
                found.append(user)
            elif isinstance(user, ReshapeOp) and user.result not in seen:
                seen.add(user.result)
                pending.append(user.result)
    return found


def _is_same_layout(other: ReshardOp, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> bool:
    sharding, other_shape = other.sharding.data, _static_shape(other.result.type)
    if other_shape is None or (sharding.unreduced, sharding.unreduced_kind) != (
        target.unreduced,
        target.unreduced_kind,
    ):
        return False
    return is_equivalent_across_reshape(sharding, other_shape, target, shape, mesh)


def _redo(
    steps: list[ReshapeOp | TransposeOp], value: SSAValue, root_type: Attribute, rewriter: PatternRewriter
) -> SSAValue:
    """Repeat `steps` on `value`, reshaped to the type of their input."""
    if value.type != root_type:
        reshape = ReshapeOp.create(operands=[value], result_types=[root_type])
        value = _insert_after(value, reshape, rewriter)
    for step in steps:
        copy = step.clone()
        copy.operands[0] = value
        value = _insert_after(value, copy, rewriter)
    return value


def _insert_after(value: SSAValue, op: ReshapeOp | TransposeOp, rewriter: PatternRewriter) -> SSAValue:
    source = value.owner
    assert isinstance(source, Operation)
    op.location = source.location
    rewriter.insert(op, InsertPoint.after(source))
    return op.result


def _static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """Return the shape of a ranked tensor without encoding and dynamic dims; None for other types."""
    if not isinstance(value_type, TensorType):
        return None
    tensor = cast("TensorType[Attribute]", value_type)
    sizes = tuple(size for size in shape_of_type(tensor) if size is not None)
    return sizes if len(sizes) == tensor.get_num_dims() and isinstance(tensor.encoding, NoneAttr) else None


def _rank(value: SSAValue) -> int | None:
    return value.type.get_num_dims() if isinstance(value.type, TensorType) else None
