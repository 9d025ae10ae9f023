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
    """Of two reshards in a row the second counts, where nobody else reads the first."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshardOp, rewriter: PatternRewriter) -> None:
        inner = op.input.owner
        if isinstance(inner, ReshardOp) and op.input.has_one_use():
            direct = ReshardOp(inner.input, op.sharding.data)
            direct.location = op.location
            rewriter.replace(op, direct)
            rewriter.erase(inner)


class ReuseReshard(RewritePattern):
    """A reshard that an earlier one made already, of the same data in the same or another shape, takes that one.

    The reshapes and transposes that led to the reshard are done again behind the earlier one.
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
        alike = (other for other in _reshards_of(root) if _places_alike(other, target, shape, mesh))
        earlier = [other for other in alike if other.is_before_in_block(op)]
        if earlier:
            block = op.parent_block()
            assert block is not None  # of an op that comes after another
            first = min(earlier, key=block.get_operation_index)
            rewriter.replace(op, [], [_redo(steps, first.result, root.type, rewriter)])


def _steps_to(value: SSAValue) -> list[ReshapeOp | TransposeOp]:
    """The reshapes and transposes that led to `value`, first one first."""
    steps: list[ReshapeOp | TransposeOp] = []
    while isinstance(value.owner, ReshapeOp | TransposeOp):
        steps.append(value.owner)
        value = value.owner.operand
    return steps[::-1]


def _before_steps(sharding: TensorSharding, steps: list[ReshapeOp | TransposeOp]) -> TensorSharding:
    """The sharding of what comes out of `steps`, as that of what goes in; as far as it can be followed."""
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
    """The reshards of `root`, and of reshapes of it."""
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


def _places_alike(other: ReshardOp, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> bool:
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
    """The outcome of `steps` on `value`, brought to the type of their input first."""
    if value.type != root_type:
        reshape = ReshapeOp.create(operands=[value], result_types=[root_type])
        value = _insert_behind(value, reshape, rewriter)
    for step in steps:
        copy = step.clone()
        copy.operands[0] = value
        value = _insert_behind(value, copy, rewriter)
    return value


def _insert_behind(value: SSAValue, op: ReshapeOp | TransposeOp, rewriter: PatternRewriter) -> SSAValue:
    source = value.owner
    assert isinstance(source, Operation)
    op.location = source.location
    rewriter.insert(op, InsertPoint.after(source))
    return op.result


def _static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """The shape of a ranked tensor without an encoding and without dynamic dims."""
    if not isinstance(value_type, TensorType):
        return None
    tensor = cast("TensorType[Attribute]", value_type)
    sizes = tuple(size for size in shape_of_type(tensor) if size is not None)
    return sizes if len(sizes) == tensor.get_num_dims() and isinstance(tensor.encoding, NoneAttr) else None


def _rank(value: SSAValue) -> int | None:
    return value.type.get_num_dims() if isinstance(value.type, TensorType) else None
