"""Local forms of constants, iota, broadcasts, reverses and reshapes.

Source: docs/spec/06, 1.12, 1.13, 3.5 and 8.1 (G6, G9).
"""

from __future__ import annotations

from typing import cast

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.model.devices.tiling import mesh_reversed_along
from sdy.model.equivalence import is_equivalent_across_reshape
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import own_shard, shard_offset
from sdy.partitioner.emit.emitter import ints, tensor_of
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks, check_nothing
from sdy.partitioner.on_shards.agreement import ShardedLayout, same_layout
from sdy.partitioner.on_shards.shard_exchanges import can_exchange_results
from sdy.partitioner.on_shards.value_shardings import ValueShardings

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


# Each device can compute its shard for any sharding.
CHECKS.of(ShardedConstantOp, ops.ConstantOp, ops.IotaOp, ops.GetDimensionSizeOp)(check_nothing)


@CHECKS.of(ops.ReverseOp)
def check_reverse(op: ops.ReverseOp, checks: ShardChecks) -> None:
    """Check that the shards of the result are in reverse order, or can be exchanged, or that reversed dims have one."""
    before, after = (checks.shardings.layout(checks.shardings.of(value)) for value in (op.operand, op.result))
    axes = _reversed_axes(op, checks.shardings)
    if before is not None and axes:
        mirrored = ShardedLayout(before.sharding, mesh_reversed_along(axes, before.mesh))
        if same_layout(mirrored, after):
            return
        if checks.style.regroups_shards and _can_exchange(op, checks.shardings):
            checks.check_operand_sharding(op, 0, checks.shardings.of(op.result), "its result")
            return
    checks.check_agreement(op)


@CHECKS.of(ops.ReshapeOp)
def check_reshape(op: ops.ReshapeOp, checks: ShardChecks) -> None:
    """Check that every element is on the same devices before and after, by the axes or by the sharding rule."""
    if 0 in shape_of(op.result):  # the shards have no elements either
        return
    before, after = checks.shardings.of(op.operand), checks.shardings.of(op.result)
    is_equivalent = (
        before is not None
        and after is not None
        and is_equivalent_across_reshape(
            before, shape_of(op.operand), after, shape_of(op.result), checks.shardings.mesh(before)
        )
    )
    if not is_equivalent:
        checks.check_agreement(op)


@FORMS.of(ShardedConstantOp, ops.ConstantOp)
@of_shards
def constant(op: ShardedConstantOp | ops.ConstantOp, lowering: Lowering) -> None:
    """Emit a smaller splat, or for other constants the full constant and a slice of it."""
    result = op.results[0]
    sharding = lowering.shardings.of(result)
    local = cast(AnyTensor, lowering.local_type(result.type, sharding, op))
    elements = op.value
    assert isinstance(elements, DenseElementsAttr)
    emit = lowering.emitter(op)
    if local == result.type:
        value = emit.constant_of(elements)
    elif elements.is_splat:
        value = emit.constant_of(DenseElementsAttr.from_bytes(local, elements.data.raw))
    else:
        assert sharding is not None
        axes = tuple(dim.axes for dim in sharding.dims)
        value = own_shard(emit, emit.constant_of(elements), axes, lowering.shardings.mesh(sharding))
    lowering.replace(op, value)


@FORMS.of(ops.IotaOp)
@of_shards
def iota(op: ops.IotaOp, lowering: Lowering) -> None:
    """Emit an iota of the shard; along a sharded dim, add the offset of the shard."""
    sharding = lowering.shardings.of(op.output)
    if sharding is None or not lowering.shardings.is_sharded(op.output):
        return
    local = cast(AnyTensor, lowering.local_type(op.output.type, sharding, op))
    emit = lowering.emitter(op)
    dim = op.iota_dimension.value.data
    iota_value = emit.value(ops.IotaOp, [], local, {"iota_dimension": op.iota_dimension})
    axes = lowering.shardings.dim_axes(op.output, dim)
    if axes:
        start = shard_offset(emit, axes, lowering.shardings.mesh(sharding), local.get_shape()[dim])
        start = emit.broadcast(emit.convert(start, local.element_type), local)
        iota_value = emit.value(elementwise.AddOp, [iota_value, start], local)
    lowering.replace(op, iota_value)


@FORMS.of(ops.ReverseOp)
@of_shards
def reverse(op: ops.ReverseOp, lowering: Lowering) -> None:
    """Reverse the shard; unless the shards of the result are in reverse order, exchange it with the opposite one."""
    sharding = lowering.shardings.of(op.operand)
    axes = _reversed_axes(op, lowering.shardings)
    lowering.make_local(op.result, op)
    if sharding is None or not axes or sharding != lowering.shardings.of(op.result):
        return
    mesh = lowering.shardings.mesh(sharding)
    pairs = zip(mesh.listed_devices(), mesh_reversed_along(axes, mesh).listed_devices(), strict=True)
    emit = lowering.emitter(op)
    own = emit.value(ops.ReverseOp, [op.operand], op.result.type, {"dimensions": op.dimensions})
    lowering.replace(op, collective_permute(emit, own, list(pairs)))


def _reversed_axes(op: ops.ReverseOp, shardings: ValueShardings) -> AxisList:
    return tuple(ref for dim in ints_of(op.dimensions) for ref in shardings.dim_axes(op.operand, dim))


def _can_exchange(op: ops.ReverseOp, shardings: ValueShardings) -> bool:
    counts = {dim: shardings.shard_count(op.operand, dim) for dim in ints_of(op.dimensions)}
    return all(count == 1 or can_exchange_results(op, dim, count) for dim, count in counts.items())


@FORMS.of(ops.BroadcastOp)
@of_shards
def broadcast(op: ops.BroadcastOp, lowering: Lowering) -> None:
    """Repeat the operand as often as the local sizes of the new dims require."""
    lowering.make_local(op.result, op)
    op.broadcast_sizes = ints(shape_of(op.result)[: len(ints_of(op.broadcast_sizes))])


@FORMS.of(ops.GetDimensionSizeOp)
@of_shards
def get_dimension_size(op: ops.GetDimensionSizeOp, lowering: Lowering) -> None:
    """Replace the op by the global size of the dim."""
    size = lowering.global_shape(op.operand)[op.dimension.value.data]
    if lowering.shardings.is_sharded(op.operand):
        lowering.replace(op, lowering.emitter(op).constant(tensor_of(op.result), [size]))
