"""Emitting StableHLO at one place of a per-device program.

Source: docs/spec/06, 0.4, 0.5 and 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.ir.fast_ops import make_op
from sdy.dialects.stablehlo import collectives, elementwise, shape, slicing
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandle, ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonDirectionAttr
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AxesPerDim
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.on_shards.combiners import Combiner, identity_element

OpT = TypeVar("OpT", bound=Operation)
Properties = dict[str, Attribute]

UI32 = IntegerType(32, Signedness.UNSIGNED)
INDEX = TensorType(i64, [])
DEVICE_TO_DEVICE = 1  # the type of a channel


@dataclass
class Channels:
    """Numbers for the channels of new collectives: each one more than all before."""

    last: int = 0

    def next_handle(self) -> ChannelHandleAttr:
        """A channel that nobody uses."""
        self.last += 1
        return ChannelHandleAttr(ChannelHandle(self.last, DEVICE_TO_DEVICE))


@dataclass(frozen=True)
class Style:
    """How devices are named and collectives written, wherever in the program.

    `counts_replicas`: devices are replicas, not partitions. `names_mesh_axes`: replica groups are axes of a mesh
    where no sub-axis takes part. `regroups_shards`: tensors may be joined along a cut dim. `keeps_zero_signs`: what
    adds nothing to a sum of floats is -0.0, not the 0.0 that the reference has, to which -0.0 is lost.
    """

    counts_replicas: bool = False
    names_mesh_axes: bool = False
    gathers_dim_by_dim: bool = False
    scatters_dims_together: bool = False
    regroups_shards: bool = False
    keeps_zero_signs: bool = False
    channels: Channels = field(default_factory=Channels)


def tensor_of(value: SSAValue) -> AnyTensor:
    """Return the type of a value that is a ranked tensor."""
    assert isinstance(value.type, TensorType)
    return cast(AnyTensor, value.type)


def with_shape(value: SSAValue, sizes: Sequence[int]) -> AnyTensor:
    """A tensor type with the elements of `value` and other dims."""
    return TensorType(tensor_of(value).element_type, list(sizes))


def with_element(value: SSAValue, element_type: Attribute) -> AnyTensor:
    """A tensor type with the dims of `value` and other elements."""
    return TensorType(element_type, list(shape_of(value)))


class Emitter:
    """Puts ops in front of one op, each with the location of that op, or with another one."""

    def __init__(self, before: Operation, style: Style, location: LocationAttr | None = None) -> None:
        self._before = before
        self._location = location or before.location
        self.style = style

    def op(
        self,
        op_class: type[OpT],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> OpT:
        """Emit an op."""
        new = make_op(op_class, operands, result_types, properties or {}, {}, self._location, regions)
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

    def constant(self, tensor: AnyTensor, values: Sequence[Scalar]) -> SSAValue:
        """All elements in row-major order, or one for all."""
        return self.constant_of(DenseElementsAttr.from_values(tensor, values))

    def constant_of(self, elements: DenseElementsAttr) -> SSAValue:
        """A constant."""
        return self.value(shape.ConstantOp, [], elements.type, {"value": elements})

    def index(self, value: int) -> SSAValue:
        """A constant of type `tensor<i64>`."""
        return self.constant(INDEX, [value])

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The same elements with other dims."""
        return self.value(shape.ReshapeOp, [value], with_shape(value, sizes))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Dim `permutation[i]` becomes dim i."""
        sizes = [shape_of(value)[dim] for dim in permutation]
        return self.value(shape.TransposeOp, [value], with_shape(value, sizes), {"permutation": ints(permutation)})

    def broadcast(self, value: SSAValue, tensor: AnyTensor, dims: Sequence[int] = ()) -> SSAValue:
        """`value` repeated to the shape of `tensor`: its dim i becomes dim `dims[i]`."""
        result = TensorType(tensor_of(value).element_type, list(tensor.get_shape()))
        return self.value(shape.BroadcastInDimOp, [value], result, {"broadcast_dimensions": ints(dims)})

    def concatenate(self, values: Sequence[SSAValue], dim: int) -> SSAValue:
        """The values one after the other along `dim`."""
        sizes = list(shape_of(values[0]))
        sizes[dim] = sum(shape_of(value)[dim] for value in values)
        properties: Properties = {"dimension": IntegerAttr(dim, i64)}
        return self.value(slicing.ConcatenateOp, values, with_shape(values[0], sizes), properties)

    def dynamic_slice(self, value: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int]) -> SSAValue:
        """The part of `value` that begins at `starts`."""
        properties: Properties = {"slice_sizes": ints(sizes)}
        return self.value(slicing.DynamicSliceOp, [value, *starts], with_shape(value, sizes), properties)

    def slice_along(self, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
        """The elements of `value` from `start` up to `limit` along `dim`; itself where these are all."""
        sizes = list(shape_of(value))
        if (start, limit) == (0, sizes[dim]):
            return value
        limits = [limit if each == dim else size for each, size in enumerate(sizes)]
        properties: Properties = {
            "start_indices": ints([start if each == dim else 0 for each in range(len(sizes))]),
            "limit_indices": ints(limits),
            "strides": ints([1] * len(sizes)),
        }
        sizes[dim] = limit - start
        return self.value(slicing.SliceOp, [value], with_shape(value, sizes), properties)

    def pad(self, value: SSAValue, filler: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
        """`value` with `filler` around it."""
        sizes = [before + size + after for before, size, after in zip(low, shape_of(value), high, strict=True)]
        properties: Properties = {
            "edge_padding_low": ints(low),
            "edge_padding_high": ints(high),
            "interior_padding": ints([0] * len(sizes)),
        }
        return self.value(slicing.PadOp, [value, filler], with_shape(value, sizes), properties)

    # Arithmetic

    def binary(self, op_class: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An elementwise op whose result is of the type of its operands."""
        return self.value(op_class, [lhs, rhs], lhs.type)

    def convert(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """The same numbers with another element type."""
        return self.value(elementwise.ConvertOp, [value], with_element(value, element_type))

    def compare(self, direction: ComparisonDirection, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Where lhs and rhs stand in a relation."""
        properties: Properties = {"comparison_direction": ComparisonDirectionAttr(direction)}
        return self.value(elementwise.CompareOp, [lhs, rhs], with_element(lhs, i1), properties)

    def clamp(self, low: SSAValue, value: SSAValue, high: SSAValue) -> SSAValue:
        """`value`, but at least `low` and at most `high`."""
        return self.value(elementwise.ClampOp, [low, value, high], value.type)

    def select(self, mask: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """`on_true` where `mask` holds, `on_false` elsewhere."""
        return self.value(elementwise.SelectOp, [mask, on_true, on_false], on_true.type)

    # Where this device is

    def device_number(self) -> SSAValue:
        """The number of the device that runs the program, as `tensor<i64>`."""
        number = collectives.ReplicaIdOp if self.style.counts_replicas else collectives.PartitionIdOp
        return self.convert(self.value(number, [], TensorType(UI32, [])), i64)

    def entry_of_device(self, table: Sequence[Scalar], element_type: Attribute, number: SSAValue) -> SSAValue:
        """Entry `number` of a table of all devices, as a tensor of one element."""
        entries = self.constant(TensorType(element_type, [len(table)]), table)
        return self.dynamic_slice(entries, [number], [1])

    def own_entry(self, table: Sequence[int]) -> SSAValue:
        """This device's entry in a table of all devices, as `tensor<i64>`."""
        return self.reshape(self.entry_of_device(table, i64, self.device_number()), [])

    def offset(self, axes: AxisList, mesh: Mesh, shard_size: int) -> SSAValue:
        """Where this device's shard begins along a dim cut by `axes` into shards of `shard_size`, as `tensor<i64>`."""
        return self.own_entry([coordinate * shard_size for coordinate in shard_coordinates(axes, mesh)])

    def offsets(self, axes: AxesPerDim, mesh: Mesh, shard_sizes: Sequence[int]) -> list[SSAValue]:
        """`offset` of each dim; a zero where it is not cut."""
        return [
            self.offset(own, mesh, size) if own else self.index(0) for own, size in zip(axes, shard_sizes, strict=True)
        ]

    def own_slice(self, value: SSAValue, axes: AxesPerDim, mesh: Mesh) -> SSAValue:
        """This device's part of a tensor when each dim is cut by the axes given for it."""
        sizes = [size // sharded_size(own, mesh) for size, own in zip(shape_of(value), axes, strict=True)]
        return self.dynamic_slice(value, self.offsets(axes, mesh, sizes), sizes)

    def is_first(self, axes: AxisList, mesh: Mesh, tensor: AnyTensor) -> SSAValue:
        """Whether this device is the first of those that differ along `axes`, as often as `tensor` has elements."""
        number = self.device_number()
        answer = self.entry_of_device([int(place == 0) for place in shard_coordinates(axes, mesh)], i1, number)
        return self.broadcast(answer, tensor, [0]) if tensor.get_shape() else self.reshape(answer, [])


def ints(values: Sequence[int]) -> DenseArrayBase[I64]:
    """An array of integers, as ops have it for dims and sizes."""
    return DenseArrayBase.from_list(i64, list(values))


def identity_constant(emit: Emitter, combiner: Combiner, tensor: AnyTensor) -> SSAValue:
    """A constant that, combined with any other tensor of the type, gives the other; zeros as the style has them."""
    element = identity_element(combiner, tensor.element_type)
    return emit.constant(tensor, [element if element or emit.style.keeps_zero_signs else 0])
