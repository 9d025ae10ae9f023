"""`concatenate` on one shard: along a cut dim, pieces of shards go to those devices that hold them in the result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicUpdateSliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.emitter import Emitter, with_shape
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.regrouping import Permute, Placing, Regrouping, Table, regrouping

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ConcatenateOp)
def moves_few_pieces(op: ConcatenateOp) -> Check:
    """Along the dim that is joined, all tensors are cut alike, and few permutes bring the pieces to their places.

    In the reference they must be whole along it.
    """

    def check(lowering: Lowering) -> None:
        if lowering.style.regroups_shards:
            lowering.check_on_shards(op)
        else:
            lowering.check_agreement(op)

    return check


@FORMS.of(ConcatenateOp)
def concatenate(op: ConcatenateOp) -> LocalForm:
    """The shards side by side, of which each device sends what others hold in the result."""
    dim = op.dimension.value.data
    sizes = tuple(shape_of(value)[dim] for value in op.inputs)

    def lower(lowering: Lowering) -> None:
        axes, sharding = lowering.dim_axes(op.result, dim), lowering.sharding(op.result)
        if not axes or sharding is None:
            lowering.make_local(op.result, op)
            return
        regrouped = _Regrouped(lowering.emitter(op), dim, axes, lowering.mesh(sharding))
        count = lowering.shard_count(op.result, dim)
        lowering.replace(op, regrouped.value(op.inputs, regrouping(sizes, count)))

    return lower


class _Regrouped:
    """Emits one regrouping along `dim`, which `axes` cut."""

    def __init__(self, emit: Emitter, dim: int, axes: AxisList, mesh: Mesh) -> None:
        self._emit = emit
        self._dim = dim
        self._coordinates = shard_coordinates(axes, mesh)
        self._groups = replica_groups(axes, mesh)
        self._number = emit.device_number()

    def value(self, operands: Sequence[SSAValue], plan: Regrouping) -> SSAValue:
        """The shard of the result."""
        own = self._emit.concatenate(operands, self._dim)
        pieces = [own, *(self._exchanged(own, permute) for permute in plan.permutes)]
        length = plan.shard + plan.received
        most_read = max(max(placing.starts) + placing.length for placing in plan.placings)
        if most_read > length:
            pieces.append(self._zeros(own, most_read - length))
        found = self._emit.concatenate(pieces, self._dim)
        result = self._zeros(own, max(max(placing.targets) + placing.length for placing in plan.placings))
        for placing in plan.placings:
            result = self._placed(result, found, placing)
        return self._emit.slice_along(result, self._dim, 0, plan.shard)

    def _zeros(self, like: SSAValue, length: int) -> SSAValue:
        sizes = list(shape_of(like))
        sizes[self._dim] = length
        return self._emit.constant(with_shape(like, sizes), [0])

    def _exchanged(self, own: SSAValue, permute: Permute) -> SSAValue:
        pairs = [(group[sender], group[receiver]) for group in self._groups for sender, receiver in permute.pairs]
        return collective_permute(self._emit, self._part(own, permute.starts, permute.length), pairs)

    def _placed(self, result: SSAValue, found: SSAValue, placing: Placing) -> SSAValue:
        part = self._part(found, placing.starts, placing.length)
        operands = [result, part, *self._starts(placing.targets, len(shape_of(result)))]
        return self._emit.value(DynamicUpdateSliceOp, operands, result.type)

    def _part(self, value: SSAValue, starts: Table, length: int) -> SSAValue:
        """As many elements of `value` along the dim, from this device's start on."""
        sizes = list(shape_of(value))
        sizes[self._dim] = length
        return self._emit.dynamic_slice(value, self._starts(starts, len(sizes)), sizes)

    def _starts(self, table: Table, rank: int) -> list[SSAValue]:
        starts = [self._emit.index(0) for _ in range(rank)]
        if len(set(table)) == 1:
            starts[self._dim] = self._emit.index(table[0])
        else:
            of_devices = [table[place] for place in self._coordinates]
            entry = self._emit.entry_of_device(of_devices, i64, self._number)
            starts[self._dim] = self._emit.reshape(entry, [])
        return starts
