"""Exchange for `stablehlo.reshape` ops whose uneven dims move elements between shards.

Source: docs/spec/06, 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.equivalence import is_equivalent_across_reshape
from sdy.model.mesh import Mesh
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.emit.emitter import Emitter
from sdy.partitioner.emit.sharded_emitter import annotated, padded_to, trimmed_to, zero_scalar
from sdy.upstream.halo.exchange import (
    DimExchange,
    Exchanger,
    ManualAxes,
    emit_manual,
    rounded_up,
    scalar_sharding,
    shard_counts,
)


class ReshapeExchange:
    """A reshape on shards, the communication that it requires, and its implementation by exchanges."""

    def __init__(self, op: ReshapeOp, before: TensorSharding, after: TensorSharding, mesh: Mesh) -> None:
        self.op = op
        self.before = before
        self.after = after
        self.mesh = mesh
        self.shapes = (shape_of(op.operand), shape_of(op.result))
        self.counts = (shard_counts(before, mesh), shard_counts(after, mesh))
        self.groups = reshape_groups(*self.shapes)

    # Required communication

    @property
    def needs_communication(self) -> bool:
        """Return whether some element is on another device after the reshape."""
        if self._is_equivalent(allow_uneven=False):
            return False
        return not (self._is_equivalent(allow_uneven=True) and all(group.is_pass_through for group in self.groups))

    def _is_equivalent(self, *, allow_uneven: bool) -> bool:
        return is_equivalent_across_reshape(
            self.before, self.shapes[0], self.after, self.shapes[1], self.mesh, allow_uneven=allow_uneven
        )

    def _is_uneven(self, group: ReshapeGroup) -> bool:
        return any(
            shape[dim] % counts[dim]
            for dims, shape, counts in zip((group.before, group.after), self.shapes, self.counts, strict=True)
            for dim in dims
        )

    # Without an exchange

    def unsharded_sides(self) -> tuple[TensorSharding, TensorSharding]:
        """Return shardings of the operand and the result for which the reshape requires no communication.

        The first sufficient set of axes is removed: those of uneven dims, those of all changed dims, all axes.
        """
        uneven = [group for group in self.groups if not group.is_pass_through and self._is_uneven(group)]
        changed = [group for group in self.groups if not group.is_pass_through]
        for groups in (uneven, changed):
            axes = frozenset(ref for group in groups for ref in self._refs_of(group))
            before, after = _without(self.before, axes), _without(self.after, axes)
            if not ReshapeExchange(self.op, before, after, self.mesh).needs_communication:
                return before, after
        return _without(self.before, None), _without(self.after, None)

    def _refs_of(self, group: ReshapeGroup) -> list[AxisRef]:
        return [
            ref
            for dims, sharding in ((group.before, self.before), (group.after, self.after))
            for dim in dims
            for ref in sharding.dims[dim].axes
        ]

    # With an exchange

    def plans(self) -> list[DimExchange] | None:
        """Return one exchange per dim that requires one, None if there is none or an all-gather costs no more."""
        uneven = [group for group in self.groups if self._is_uneven(group)]
        active = [group for group in uneven if not group.is_pass_through]
        if not active or not self._is_equivalent(allow_uneven=True):
            return None
        if not all(self._can_exchange(group) for group in active):
            return None
        plans = [self._plan(group) for group in active]
        if any(plan.left > 1 or plan.right > 1 for plan, _ in plans):
            return None
        return [plan for plan, is_needed in plans if is_needed]

    def _can_exchange(self, group: ReshapeGroup) -> bool:
        if not group.is_split or 1 in (*group.sizes_before, *group.sizes_after):
            return False
        first_before, first_after = group.sizes_before[0], group.sizes_after[0]
        if first_before % first_after and first_after % first_before:
            return False
        padded = [
            prod(rounded_up(sizes, [counts[dim] for dim in dims]))
            for sizes, dims, counts in (
                (group.sizes_before, group.before, self.counts[0]),
                (group.sizes_after, group.after, self.counts[1]),
            )
        ]
        return padded[0] == padded[1]

    def _plan(self, group: ReshapeGroup) -> tuple[DimExchange, bool]:
        """Return the exchange of a dim that is split into several, and whether any shard requires others' elements."""
        (dim,) = group.before
        (size,) = group.sizes_before
        count = self.counts[0][dim]
        shard = -(-size // count)
        radices = [self.counts[1][after] for after in group.after]
        left = right = 0
        entries: list[tuple[int, int]] = []  # per shard: the distance to the first source shard, the start in it
        is_needed = False
        for index in range(count):
            begin = _first_element(index, group.sizes_after, radices)
            if begin >= size:
                entries.append((0, 0))  # the shard contains only padding
                continue
            first, last = begin // shard, min(begin + shard, size) - 1
            left, right = max(left, index - first), max(right, last // shard - index)
            is_needed |= begin != index * shard
            entries.append((first - index, begin - first * shard))
        table = tuple(shard + (left + source) * shard + offset for source, offset in entries)
        axes = tuple(ref for after in group.after for ref in self.after.dims[after].axes)
        return DimExchange(dim, axes, count, shard, shard, left, right, table=table), is_needed

    def emit(self, plans: Sequence[DimExchange], emit: Emitter) -> SSAValue:
        """Emit the reshape with the exchanges and return its result."""
        op = self.op
        uneven = [group for group in self.groups if self._is_uneven(group)]
        refs = [ref for group in uneven for ref in self._refs_of(group)]
        axes = ManualAxes.of(refs, (self.before, self.after), self.mesh)
        before, after = (rounded_up(shape, counts) for shape, counts in zip(self.shapes, self.counts, strict=True))
        filler = zero_scalar(emit, op.operand)
        operand: SSAValue = op.operand
        if tuple(before) != self.shapes[0]:
            operand = padded_to(emit, op.operand, zero_scalar(emit, op.operand), before, self.before)
        inside = axes.inside(self.before)
        local_sizes = [
            size // sharded_size(dim.axes, self.mesh)
            for size, dim in zip(after, axes.outside(self.after).dims, strict=True)
        ]

        def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
            value, inner_filler = arguments
            exchanger = Exchanger(inner, self.mesh, inside, inner_filler, fills_ends=False)
            for plan in plans:
                value = exchanger.exchanged(value, plan)
            return annotated(inner.reshape(value, local_sizes), axes.inside(self.after))

        operands = [(operand, self.before), (filler, scalar_sharding(self.before))]
        result = emit_manual(op, emit, axes, operands, (after, self.after), body)
        return result if tuple(after) == self.shapes[1] else trimmed_to(emit, result, self.shapes[1], self.after)


def _first_element(index: int, sizes: Sequence[int], radices: Sequence[int]) -> int:
    """Return the first element of the split dim that shard `index` of the result contains."""
    begin = 0
    stride = 1
    for size, count in zip(reversed(sizes), reversed(radices), strict=True):
        begin += index % count * -(-size // count) * stride
        index //= count
        stride *= size
    return begin


def _without(sharding: TensorSharding, axes: frozenset[AxisRef] | None) -> TensorSharding:
    """Return the sharding without `axes` in its dims, without all axes if `axes` is None."""
    dims = tuple(
        DimSharding(() if axes is None else tuple(ref for ref in dim.axes if ref not in axes), dim.is_closed)
        for dim in sharding.dims
    )
    return replace(sharding, dims=dims)


@dataclass(frozen=True, slots=True)
class ReshapeGroup:
    """Consecutive dims before and after a reshape that hold the same elements.

    Source: docs/spec/06, 3.5.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    sizes_before: StaticShape
    sizes_after: StaticShape

    @property
    def is_pass_through(self) -> bool:
        """Return whether each side has at most one dim whose size is not 1."""
        return _count(self.sizes_before) <= 1 and _count(self.sizes_after) <= 1

    @property
    def is_split(self) -> bool:
        """Return whether at most one dim, ignoring dims of size 1, is split into several."""
        return _count(self.sizes_before) <= 1 < _count(self.sizes_after)


def reshape_groups(before: StaticShape, after: StaticShape) -> tuple[ReshapeGroup, ...]:
    """Return the groups in order; trailing dims of size 1 form groups that are empty on the other side.

    >>> [(group.before, group.after) for group in reshape_groups((6, 4), (2, 3, 4))]
    [((0,), (0, 1)), ((1,), (2,))]
    """
    groups: list[ReshapeGroup] = []
    done = [0, 0]
    shapes = (before, after)
    while done[0] < len(before) or done[1] < len(after):
        ends = [min(begin + 1, len(shape)) for begin, shape in zip(done, shapes, strict=True)]
        while (grown := _side_to_grow(shapes, done, ends)) is not None:
            ends[grown] += 1
        runs = [tuple(range(begin, end)) for begin, end in zip(done, ends, strict=True)]
        sizes = [shape[begin:end] for shape, begin, end in zip(shapes, done, ends, strict=True)]
        groups.append(ReshapeGroup(runs[0], runs[1], sizes[0], sizes[1]))
        done = ends
    return tuple(groups)


def _side_to_grow(shapes: tuple[StaticShape, StaticShape], begins: list[int], ends: list[int]) -> int | None:
    """Return the side with fewer elements so far, None if both agree or the side has no further dims."""
    products = [prod(shape[begin:end]) for shape, begin, end in zip(shapes, begins, ends, strict=True)]
    if products[0] == products[1]:
        return None
    smaller = int(products[1] < products[0])
    return smaller if ends[smaller] < len(shapes[smaller]) else None


def _count(sizes: StaticShape) -> int:
    return sum(size != 1 for size in sizes)
