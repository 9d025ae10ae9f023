"""Builder of StableHLO ops at one insertion point of a per-device program.

Source: docs/spec/06, 0.4, 0.5 and 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import cast

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IntegerAttr,
    LocationAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.ir.fast_ops import OpInserter, Properties, insert_op_before
from sdy.dialects.stablehlo import elementwise, shape, slicing
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandle, ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonDirectionAttr
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.partitioner.on_shards.combiners import CombinerClass, identity_element

INDEX = TensorType(i64, [])
DEVICE_TO_DEVICE = 1  # the type of a channel handle


@dataclass
class Channels:
    """Generator of channel numbers for new collectives: each number is larger than all earlier ones."""

    last: int = 0

    def next_handle(self) -> ChannelHandleAttr:
        """Return a channel handle that no other op uses."""
        self.last += 1
        return ChannelHandleAttr(ChannelHandle(self.last, DEVICE_TO_DEVICE))


@dataclass(frozen=True)
class Style:
    """Options for the form of device numbers and collectives in a program.

    `counts_replicas`: devices are replicas, not partitions. `names_mesh_axes`: replica groups are mesh axes if no
    sub-axis is among them. `regroups_shards`: concatenations, slices and pads may exchange slices of shards.
    `keeps_zero_signs`: the identity element of sums of floats is -0.0; Shardy uses 0.0, which loses the sign of -0.0.
    `channels` numbers the channels of new collectives.
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
    """Return the type of `value` with other dim sizes."""
    return TensorType(tensor_of(value).element_type, list(sizes))


def with_element(value: SSAValue, element_type: Attribute) -> AnyTensor:
    """Return the type of `value` with another element type."""
    return TensorType(element_type, list(shape_of(value)))


class Emitter(OpInserter):
    """Inserts StableHLO ops before one op, in the given style. New ops have the location of that op, or `location`."""

    def __init__(self, before: Operation, style: Style, location: LocationAttr | None = None) -> None:
        super().__init__(before, location)
        self.style = style

    def add(self, op: Operation) -> SSAValue:
        """Insert an op with one result, which was created without a location, and return the result."""
        op.location = self._location
        insert_op_before(op, self._before)
        return op.results[0]

    # Data

    def constant(self, tensor: AnyTensor, values: Sequence[Scalar]) -> SSAValue:
        """Return a constant; `values` are all elements in row-major order, or one element for a splat."""
        return self.constant_of(DenseElementsAttr.from_values(tensor, values))

    def constant_of(self, elements: DenseElementsAttr) -> SSAValue:
        """Return a constant with the given elements."""
        return self.value(shape.ConstantOp, [], elements.type, {"value": elements})

    def index(self, value: int) -> SSAValue:
        """Return a constant of type `tensor<i64>`."""
        return self.constant(INDEX, [value])

    def iota(self, tensor: AnyTensor, dim: int = 0) -> SSAValue:
        """Return the index of each element along `dim`."""
        return self.value(shape.IotaOp, [], tensor, {"iota_dimension": IntegerAttr(dim, i64)})

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Reshape `value` to `sizes`."""
        return self.value(shape.ReshapeOp, [value], with_shape(value, sizes))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Transpose `value`: dim `permutation[i]` of the operand becomes dim i of the result."""
        sizes = [shape_of(value)[dim] for dim in permutation]
        return self.value(shape.TransposeOp, [value], with_shape(value, sizes), {"permutation": ints(permutation)})

    def broadcast(self, value: SSAValue, tensor: AnyTensor, dims: Sequence[int] = ()) -> SSAValue:
        """Broadcast `value` to the shape of `tensor`: dim i of the operand becomes dim `dims[i]` of the result."""
        result = TensorType(tensor_of(value).element_type, list(tensor.get_shape()))
        return self.value(shape.BroadcastInDimOp, [value], result, {"broadcast_dimensions": ints(dims)})

    def concatenate(self, values: Sequence[SSAValue], dim: int) -> SSAValue:
        """Concatenate `values` along `dim`; return a single one itself."""
        if len(values) == 1:
            return values[0]
        sizes = list(shape_of(values[0]))
        sizes[dim] = sum(shape_of(value)[dim] for value in values)
        properties: Properties = {"dimension": IntegerAttr(dim, i64)}
        return self.value(slicing.ConcatenateOp, values, with_shape(values[0], sizes), properties)

    def slice(
        self, value: SSAValue, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] = ()
    ) -> SSAValue:
        """Slice `value` from `starts` to before `limits`, by steps of one if there are no `strides`."""
        strides = strides or [1] * len(starts)
        ranges = zip(starts, limits, strides, strict=True)
        sizes = [max(0, -(-(limit - start) // stride)) for start, limit, stride in ranges]
        properties: Properties = {
            "start_indices": ints(starts),
            "limit_indices": ints(limits),
            "strides": ints(strides),
        }
        return self.value(slicing.SliceOp, [value], with_shape(value, sizes), properties)

    def pad(
        self,
        value: SSAValue,
        filler: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] = (),
    ) -> SSAValue:
        """Pad `value` with `filler` at both ends of each dim, and between its elements if `interior` is given."""
        interior = interior or [0] * len(low)
        amounts = zip(low, shape_of(value), interior, high, strict=True)
        sizes = [before + max(0, (size - 1) * (gap + 1) + 1) + after for before, size, gap, after in amounts]
        properties: Properties = {
            "edge_padding_low": ints(low),
            "edge_padding_high": ints(high),
            "interior_padding": ints(interior),
        }
        return self.value(slicing.PadOp, [value, filler], with_shape(value, sizes), properties)

    # Arithmetic

    def binary(self, op_class: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Emit an elementwise op whose result has the type of its operands."""
        return self.value(op_class, [lhs, rhs], lhs.type)

    def all_of(self, masks: Sequence[SSAValue]) -> SSAValue:
        """Return the conjunction of masks."""
        return reduce(partial(self.binary, elementwise.AndOp), masks)

    def convert(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """Convert the elements of `value` to another element type."""
        return self.value(elementwise.ConvertOp, [value], with_element(value, element_type))

    def compare(self, direction: ComparisonDirection, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Compare `lhs` and `rhs` elementwise."""
        properties: Properties = {"comparison_direction": ComparisonDirectionAttr(direction)}
        return self.value(elementwise.CompareOp, [lhs, rhs], with_element(lhs, i1), properties)

    def clamp(self, low: SSAValue, value: SSAValue, high: SSAValue) -> SSAValue:
        """Clamp `value` to the range from `low` to `high`."""
        return self.value(elementwise.ClampOp, [low, value, high], value.type)

    def select(self, mask: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """Select elements of `on_true` where `mask` is true, otherwise of `on_false`."""
        return self.value(elementwise.SelectOp, [mask, on_true, on_false], on_true.type)


def ints(values: Sequence[int]) -> DenseArrayBase[I64]:
    """Return an i64 array attribute, as ops have them for dims and sizes."""
    return DenseArrayBase.from_list(i64, list(values))


def identity_constant(emit: Emitter, combiner: CombinerClass, tensor: AnyTensor) -> SSAValue:
    """Return a constant of identity elements of `combiner`; the style determines the sign of zeros."""
    element = identity_element(combiner, tensor.element_type)
    return emit.constant(tensor, [element if element or emit.style.keeps_zero_signs else 0])
