"""Emitting StableHLO at one place of a per-device program.

Source: spec of local lowering, sections 0.4 to 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, Signedness, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.dense import DenseElementsAttr
from sdy.dialects.elements import Scalar
from sdy.dialects.stablehlo import collectives, control, elementwise, shape, slicing
from sdy.dialects.stablehlo.attrs import ChannelHandle, ChannelHandleAttr
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.collective import AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind
from sdy.model.tiling import shard_coordinates

OpT = TypeVar("OpT", bound=Operation)
Tensor = TensorType[Attribute]
Properties = dict[str, Attribute]

UI32 = IntegerType(32, Signedness.UNSIGNED)
DEVICE_TO_DEVICE = 1  # the type of a channel

BODY_OF_KIND: dict[ReductionKind, type[elementwise.BinaryOp]] = {
    ReductionKind.SUM: elementwise.AddOp,
    ReductionKind.MAX: elementwise.MaximumOp,
    ReductionKind.MIN: elementwise.MinimumOp,
}


@dataclass
class Channels:
    """Numbers for the channels of new collectives: each one more than all before."""

    last: int = 0

    def next_handle(self) -> ChannelHandleAttr:
        """A channel that nobody uses."""
        self.last += 1
        return ChannelHandleAttr(ChannelHandle(self.last, DEVICE_TO_DEVICE))


def tensor_of(value: SSAValue) -> Tensor:
    """The type of a value that is a tensor."""
    assert isinstance(value.type, TensorType)
    return cast(Tensor, value.type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The dims of a value that is a tensor."""
    return tensor_of(value).get_shape()


class Emitter:
    """Puts ops in front of one op, each with the location of that op."""

    def __init__(self, before: Operation, channels: Channels, *, counts_replicas: bool = False) -> None:
        self._before = before
        self._channels = channels
        self._counts_replicas = counts_replicas

    def op(
        self,
        op_class: type[OpT],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> OpT:
        """Emit an op."""
        new = op_class.create(
            operands=operands, result_types=result_types, properties=properties or {}, regions=regions
        )
        new.location = self._before.location
        block = self._before.parent
        assert block is not None
        block.insert_op_before(new, self._before)
        return new

    def value(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """Emit an op with one result; the result."""
        return self.op(op_class, operands, [result_type], properties, regions).results[0]

    # Data

    def constant(self, tensor: Tensor, values: Sequence[Scalar]) -> SSAValue:
        """All elements in row-major order, or one for all."""
        return self.constant_of(DenseElementsAttr.from_values(tensor, values))

    def constant_of(self, elements: DenseElementsAttr) -> SSAValue:
        """A constant."""
        return self.value(shape.ConstantOp, [], elements.type, {"value": elements})

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The same elements with other dims."""
        return self.value(shape.ReshapeOp, [value], _with_shape(value, sizes))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Dim `permutation[i]` becomes dim i."""
        sizes = [shape_of(value)[dim] for dim in permutation]
        properties: Properties = {"permutation": DenseArrayBase.from_list(i64, permutation)}
        return self.value(shape.TransposeOp, [value], _with_shape(value, sizes), properties)

    # Where this device is

    def device_number(self) -> SSAValue:
        """The number of the device that runs the program, as `tensor<i64>`."""
        number = collectives.ReplicaIdOp if self._counts_replicas else collectives.PartitionIdOp
        return self.value(elementwise.ConvertOp, [self.value(number, [], TensorType(UI32, []))], TensorType(i64, []))

    def offset(self, axes: AxisList, mesh: Mesh, shard_size: int) -> SSAValue:
        """Where this device's shard begins along a dim cut by `axes` into shards of `shard_size`, as `tensor<i64>`."""
        number = self.device_number()
        starts = [coordinate * shard_size for coordinate in shard_coordinates(axes, mesh)]
        table = self.constant(TensorType(i64, [mesh.device_count]), starts)
        properties: Properties = {"slice_sizes": DenseArrayBase.from_list(i64, [1])}
        entry = self.value(slicing.DynamicSliceOp, [table, number], TensorType(i64, [1]), properties)
        return self.reshape(entry, [])

    def own_slice(self, value: SSAValue, axes: AxesPerDim, mesh: Mesh) -> SSAValue:
        """This device's part of a tensor when each dim is cut by the axes given for it."""
        sizes = [size // sharded_size(own, mesh) for size, own in zip(shape_of(value), axes, strict=True)]
        starts = [
            self.offset(own, mesh, size) if own else self.constant(TensorType(i64, []), [0])
            for own, size in zip(axes, sizes, strict=True)
        ]
        properties: Properties = {"slice_sizes": DenseArrayBase.from_list(i64, sizes)}
        return self.value(slicing.DynamicSliceOp, [value, *starts], _with_shape(value, sizes), properties)

    # Communication

    def all_gather(self, value: SSAValue, dim: int, axes: AxisList, mesh: Mesh) -> SSAValue:
        """The shards of a group of devices, one after the other along `dim`."""
        sizes = list(shape_of(value))
        sizes[dim] *= sharded_size(axes, mesh)
        properties = {"all_gather_dim": _i64(dim), **self._between(axes, mesh), "use_global_device_ids": UnitAttr()}
        return self.value(collectives.AllGatherOp, [value], _with_shape(value, sizes), properties)

    def all_reduce(self, value: SSAValue, axes: AxisList, mesh: Mesh, kind: ReductionKind) -> SSAValue:
        """The values of a group of devices, combined."""
        properties = {**self._between(axes, mesh), "use_global_device_ids": UnitAttr()}
        body = _reduction_body(tensor_of(value).element_type, kind)
        return self.value(collectives.AllReduceOp, [value], value.type, properties, [body])

    def reduce_scatter(self, value: SSAValue, dim: int, axes: AxisList, mesh: Mesh, kind: ReductionKind) -> SSAValue:
        """The values of a group of devices, combined; each device keeps one part along `dim`."""
        sizes = list(shape_of(value))
        sizes[dim] //= sharded_size(axes, mesh)
        properties = {
            "scatter_dimension": _i64(dim),
            **self._between(axes, mesh),
            "use_global_device_ids": UnitAttr(),
        }
        body = _reduction_body(tensor_of(value).element_type, kind)
        return self.value(collectives.ReduceScatterOp, [value], _with_shape(value, sizes), properties, [body])

    def all_to_all(self, value: SSAValue, split_dim: int, concat_dim: int, axes: AxisList, mesh: Mesh) -> SSAValue:
        """Each device cuts `split_dim`, hands part i to device i of its group, and joins what it gets."""
        count = sharded_size(axes, mesh)
        sizes = list(shape_of(value))
        sizes[split_dim] //= count
        sizes[concat_dim] *= count
        properties = {
            "split_dimension": _i64(split_dim),
            "concat_dimension": _i64(concat_dim),
            "split_count": _i64(count),
            **self._between(axes, mesh),
        }
        return self.value(collectives.AllToAllOp, [value], _with_shape(value, sizes), properties)

    def collective_permute(self, value: SSAValue, pairs: Sequence[tuple[int, int]]) -> SSAValue:
        """Each device hands its value to another one; who gets none has zeros."""
        numbers = [device for pair in pairs for device in pair]
        properties: Properties = {
            "source_target_pairs": DenseElementsAttr.from_values(TensorType(i64, [len(pairs), 2]), numbers),
            "channel_handle": self._channels.next_handle(),
        }
        return self.value(collectives.CollectivePermuteOp, [value], value.type, properties)

    def _between(self, axes: AxisList, mesh: Mesh) -> Properties:
        groups = replica_groups(axes, mesh)
        tensor = TensorType(i64, [len(groups), len(groups[0])])
        numbers = [device for group in groups for device in group]
        return {
            "replica_groups": DenseElementsAttr.from_values(tensor, numbers),
            "channel_handle": self._channels.next_handle(),
        }


def _with_shape(value: SSAValue, sizes: Sequence[int]) -> Tensor:
    return TensorType(tensor_of(value).element_type, list(sizes))


def _i64(value: int) -> Attribute:
    return IntegerAttr(value, i64)


def _reduction_body(element_type: Attribute, kind: ReductionKind) -> Region:
    scalar = TensorType(element_type, [])
    block = Block(arg_types=[scalar, scalar])
    combined = BODY_OF_KIND[kind].create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, control.ReturnOp.create(operands=combined.results)])
    return Region(block)
