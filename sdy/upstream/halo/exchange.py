"""Exchanges of shards along dims: which shards a device requires, and the manual computations that send them.

Source: docs/spec/06, 3.3 to 3.5, 3.8 and 8.3 (G61).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.sdy.attrs import ManualAxesAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import local_type
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import shard_coordinates, shift_pairs
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import device_stride
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.device_position import device_entry, device_number
from sdy.partitioner.emit.emitter import Emitter, tensor_of, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated
from sdy.partitioner.emit.slices import slice_at


@dataclass(frozen=True, slots=True)
class DimExchange:
    """An exchange along one dim: receive the shards of neighbors, pad the concatenation, slice this device's part.

    The slice of shard i starts at `slope * i + offset`, or at entry i of the `table`.
    """

    dim: int
    axes: AxisList  # along which the dim is sharded
    count: int  # shards
    shard: int  # elements of an operand shard
    part: int  # positions of a result shard
    left: int  # number of shards required to the left
    right: int  # number of shards required to the right
    step: int = 1  # positions from one element to the next, 1 more than the interior padding
    slope: int = 0
    offset: int = 0
    table: tuple[int, ...] | None = None

    @property
    def margin(self) -> int:
        """Return the padding at both ends with which the slice of every device is in bounds."""
        return self.part * self.step

    @property
    def is_too_far(self) -> bool:
        """Return whether an all-gather of the dim costs no more than this exchange."""
        return self.left + self.right + 1 >= self.count and (self.left > 1 or self.right > 1)


@dataclass(frozen=True, slots=True)
class StridedPlacement:
    """A map of the elements of a dim: element i moves to position `low + i * step` of `size` positions.

    A slice that starts at s is a placement with `low` -s.
    """

    low: int
    step: int
    size: int


def dim_exchange(
    dim: int, axes: AxisList, count: int, elements: int, placement: StridedPlacement
) -> tuple[DimExchange, bool]:
    """Return the exchange that moves a dim of `elements` elements in `count` shards to its placement.

    Also return whether it is needed: some shard requires elements of another one, or no elements at all.

    >>> exchange, is_needed = dim_exchange(0, (), 2, 8, StridedPlacement(0, 1, 3))
    >>> (exchange.left, exchange.right, exchange.shard, exchange.part, exchange.slope, exchange.offset, is_needed)
    (1, 0, 4, 2, -2, 6, True)
    """
    shard, part = -(-elements // count), -(-placement.size // count)
    low, step = placement.low, placement.step
    spans = [_span(_divided_toward_zero(index * part - low, step), part, elements) for index in range(count)]
    holders = [(index, span[0] // shard, span[1] // shard) for index, span in enumerate(spans) if span is not None]
    left, right = _reach((index, first, last) for index, first, last in holders)
    is_needed = len(holders) < count or any((first, last) != (index, index) for index, first, last in holders)
    exchange = DimExchange(
        dim,
        axes,
        count,
        shard,
        part,
        left,
        right,
        step,
        slope=part - shard * step,
        offset=left * shard * step + part * step - low,
    )
    return exchange, is_needed


def is_communication_free(count: int, elements: int, placement: StridedPlacement, *, is_slice: bool) -> bool:
    """Return whether each of `count` shards holds all elements that it requires.

    A slice must start at 0: other slices result in shards of different sizes. Source: docs/spec/06, 0.10.
    """
    if count <= 1:
        return True
    shard, part = -(-elements // count), -(-placement.size // count)
    if is_slice:
        return placement.low == 0 and shard == part
    if placement.step != 1:
        return False
    spans = [_span(index * part - placement.low, part, elements) for index in range(count)]
    return all(span is None or span[0] // shard == index == span[1] // shard for index, span in enumerate(spans))


def _span(begin: int, part: int, elements: int) -> tuple[int, int] | None:
    """Return the first and the last element in a window of `part` positions, None if it contains no element."""
    first, last = max(0, begin), min(elements - 1, begin + part - 1)
    return (first, last) if first <= last else None


def _reach(holders: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the largest distances to the left and to the right of the shards that hold required elements."""
    left = right = 0
    for index, first, last in holders:
        left, right = max(left, index - first), max(right, last - index)
    return left, right


def _divided_toward_zero(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


Body = Callable[[Emitter, Sequence[SSAValue]], SSAValue]  # emits ops on the block arguments and returns the result


@dataclass(frozen=True, slots=True)
class ManualAxes:
    """The manual axes of a computation, by name, and their mesh."""

    names: frozenset[str]
    mesh: Mesh

    @staticmethod
    def of(refs: Iterable[AxisRef], shardings: Sequence[TensorSharding], mesh: Mesh) -> ManualAxes:
        """Return the full axes of `refs` and all axes that are major to them in some dim.

        `shardings` are those of the operands and results; in each dim, manual axes must come before all others.
        """
        names = {ref.name for ref in refs}
        lists = [dim.axes for sharding in shardings for dim in sharding.dims]
        while added := {name for axes in lists for name in _major_to(names, axes)} - names:
            names |= added
        return ManualAxes(frozenset(names), mesh)

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return the names in mesh order."""
        return tuple(axis.name for axis in self.mesh.axes if axis.name in self.names)

    def inside(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding of a value in the body: the axes that are not manual."""
        return self._filtered(sharding, keeps_manual=False)

    def outside(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding restricted to the manual axes."""
        return self._filtered(sharding, keeps_manual=True)

    def _filtered(self, sharding: TensorSharding, *, keeps_manual: bool) -> TensorSharding:
        dims = tuple(
            replace(dim, axes=tuple(ref for ref in dim.axes if (ref.name in self.names) == keeps_manual))
            for dim in sharding.dims
        )
        return replace(sharding, dims=dims)


def _major_to(names: Collection[str], axes: AxisList) -> list[str]:
    """Return the axes of a dim before the last one that is in `names`."""
    last_index = max((index for index, ref in enumerate(axes) if ref.name in names), default=0)
    return [ref.name for ref in axes[:last_index]]


def emit_manual(
    op: Operation,
    emit: Emitter,
    axes: ManualAxes,
    operands: Sequence[tuple[SSAValue, TensorSharding]],
    result: tuple[Sequence[int], TensorSharding],
    body: Body,
) -> SSAValue:
    """Emit a manual computation with one result.

    `result` is its global shape and sharding; its element type is that of the first operand. New ops have the location
    of `op`.
    """
    types = [local_type(value.type, axes.outside(sharding), axes.mesh) for value, sharding in operands]
    block = Block(arg_types=[each for each in types if each is not None])
    terminator = ReturnOp()
    terminator.location = op.location
    block.add_op(terminator)
    terminator.operands = [body(Emitter(terminator, emit.style), block.args)]
    sizes, sharding = result
    properties = {
        "in_shardings": TensorShardingPerValueAttr(tuple(each for _, each in operands)),
        "out_shardings": TensorShardingPerValueAttr((sharding,)),
        "manual_axes": ManualAxesAttr(axes.in_order),
    }
    values = [value for value, _ in operands]
    return emit.value(ManualComputationOp, values, with_shape(values[0], sizes), dict(properties), [Region(block)])


def scalar_sharding(like: TensorSharding) -> TensorSharding:
    """Return the sharding of a scalar on the mesh of `like`."""
    return TensorSharding(like.mesh, ())


def shard_counts(sharding: TensorSharding, mesh: Mesh) -> list[int]:
    """Return the number of shards along each dim."""
    return [sharded_size(dim.axes, mesh) for dim in sharding.dims]


def rounded_up(sizes: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return each size rounded up to a multiple of its count."""
    return [-(-size // count) * count for size, count in zip(sizes, counts, strict=True)]


@dataclass(frozen=True, slots=True)
class Exchanger:
    """Emits exchanges. `sharding` is the sharding of the values in the body, along the axes that are not manual.

    `filler` is the value of positions without an element. Devices at the ends of a dim receive zeros from missing
    neighbors; if `fills_ends`, these zeros are replaced by the filler.
    """

    emit: Emitter
    mesh: Mesh
    sharding: TensorSharding
    filler: SSAValue
    fills_ends: bool

    def exchanged(self, value: SSAValue, plan: DimExchange) -> SSAValue:
        """Exchange shards along the dim of the plan, and return the slice that this device requires."""
        emit = self.emit
        shards = self._shards(value, plan)
        joined = annotated(emit.concatenate(shards, plan.dim), self.sharding) if len(shards) > 1 else value
        rank = len(shape_of(value))
        margin, gap = _at(plan.dim, plan.margin, rank), _at(plan.dim, plan.step - 1, rank)
        padded = annotated(emit.pad(joined, self.filler, margin, margin, gap), self.sharding)
        start, zero = self._start(plan)
        starts = [start if dim == plan.dim else zero for dim in range(rank)]
        sizes = list(shape_of(value))
        sizes[plan.dim] = plan.part
        return annotated(slice_at(emit, padded, starts, sizes), self.sharding)

    def _shards(self, value: SSAValue, plan: DimExchange) -> list[SSAValue]:
        left = [(-hops, self.received(value, plan.axes, hops)) for hops in range(plan.left, 0, -1)]
        right = [(hops, self.received(value, plan.axes, -hops)) for hops in range(1, plan.right + 1)]
        if self.fills_ends and (left or right):
            index = shard_index(self.emit, plan.axes, self.mesh)
            left, right = (
                [(distance, self._filled(shard, index, distance, plan.count)) for distance, shard in side]
                for side in (left, right)
            )
        return [*(shard for _, shard in left), value, *(shard for _, shard in right)]

    def received(self, value: SSAValue, axes: AxisList, hops: int) -> SSAValue:
        """Return the shard that is `hops` shards to the left, zeros if there is none."""
        sharding = None if self.sharding.is_fully_replicated else self.sharding
        return annotated(collective_permute(self.emit, value, shift_pairs(axes, self.mesh, hops)), sharding)

    def _filled(self, shard: SSAValue, index: SSAValue, distance: int, count: int) -> SSAValue:
        """Return `shard`, received from the neighbor at `distance`, or the filler on devices without that neighbor."""
        emit = self.emit
        if distance < 0:
            exists = emit.compare(ComparisonDirection.GE, index, emit.index(-distance))
        else:
            exists = emit.compare(ComparisonDirection.LT, index, emit.index(count - distance))
        filling = annotated(emit.broadcast(self.filler, tensor_of(shard)), self.sharding)
        return annotated(emit.select(exists, shard, filling), self.sharding)

    def _start(self, plan: DimExchange) -> tuple[SSAValue, SSAValue]:
        """Return the start of this device's slice in the padded shards, and a zero."""
        emit = self.emit
        index = shard_index(emit, plan.axes, self.mesh)
        if plan.table is not None:
            start = emit.reshape(device_entry(emit, plan.table, i64, index), [])
            return start, emit.index(0)
        slope, offset = emit.index(plan.slope), emit.index(plan.offset)
        start = emit.binary(elementwise.AddOp, emit.binary(elementwise.MultiplyOp, index, slope), offset)
        zero = emit.index(0)
        return emit.binary(elementwise.MaximumOp, start, zero), zero


def shard_index(emit: Emitter, axes: AxisList, mesh: Mesh) -> SSAValue:
    """Return the index of this device's shard of a dim sharded along `axes`, as `tensor<i64>`."""
    number = device_number(emit)
    if mesh.device_ids:
        return emit.reshape(device_entry(emit, shard_coordinates(axes, mesh), i64, number), [])
    index: SSAValue | None = None
    for ref in axes:
        size = mesh.size_of(ref)
        coordinate = _coordinate(emit, number, device_stride(ref, mesh), size, mesh.device_count)
        if index is None:
            index = coordinate
        else:
            scaled = emit.binary(elementwise.MultiplyOp, index, emit.index(size))
            index = emit.binary(elementwise.AddOp, scaled, coordinate)
    return emit.index(0) if index is None else index


def _coordinate(emit: Emitter, number: SSAValue, stride: int, size: int, devices: int) -> SSAValue:
    if stride > 1:
        number = emit.binary(elementwise.DivideOp, number, emit.index(stride))
    if size < devices:
        number = emit.binary(elementwise.RemainderOp, number, emit.index(size))
    return number


def _at(dim: int, value: int, rank: int) -> Sequence[int]:
    return [value if index == dim else 0 for index in range(rank)]
