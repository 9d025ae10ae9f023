"""Replace selects by what they select, where this is known for each device and position.

    before  %1 = "stablehlo.collective_permute"(%edge) {each device to the next one, the last to the first}
            %2 = concatenate (select %is_first, %1, 0), 0        %3 = concatenate (select %is_other, %1, 0), %rest
            %4 = select (global position < 1), %2, %3
    after   %4 = concatenate %1, %rest

Exchanges between shards are emitted op by op, each with masks of its own; `jnp.roll` of a sharded dim is two slices and
a concatenation. Slices, what permutes send, and what devices choose, are resolved in the same way.
Requires and ensures: the program of one device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import is_elementwise
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.elementwise import SelectOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.partitioner.emit.device_position import device_mask, device_number
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of, with_shape
from sdy.partitioner.emit.slices import slice_along, sliced_dim
from sdy.passes.export.selects.known_values import KnownValues, devices_of, entry, shortened
from sdy.passes.export.selects.origins import (
    Moved,
    Origin,
    Origins,
    Segment,
    zero_of,
)
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order

MOST_ELEMENTWISE = 4  # ops, one after the other, that compute an operand
MOST_CHOSEN = 4  # two origins, and the zeros of what permutes do not send


class ResolveSelectsPass(ModulePass):
    """Replace selects by what they select."""

    name = "sdy-resolve-selects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit selects, slices and permutes in the order of the program, so that operands are resolved first."""
        order = op_order(op)
        permutes = order.of(CollectivePermuteOp)
        if not (order.of(SelectOp) or permutes):
            keep_order(op)
            return
        resolver = _Resolver(Style(counts_replicas=not all(map(has_channel, permutes))))
        replaced = [each for each in order.ops if resolver.resolve(each)]
        if not replaced:
            keep_order(op)
            return
        forget_order(op)
        erase_dead_ops(pre_order(op))


Choice = tuple[Origin, tuple[bool, ...] | None]  # an origin, and the devices that need it if not all do
Segments = list[tuple[Segment, Sequence[Choice]]]


class _Resolver:
    """Replaces the results of selects and slices, and the operands of permutes."""

    def __init__(self, style: Style) -> None:
        self._style = style
        counts_replicas = style.counts_replicas
        self._known = KnownValues(counts_replicas=counts_replicas)
        self._origins = Origins(self._known, counts_replicas=counts_replicas)

    def resolve(self, op: Operation) -> bool:
        """Resolve an op if it becomes less work; return whether it did."""
        is_changed = False
        match op:
            case SelectOp():
                is_changed = self._resolve_selected(op)
                found = self._segments(op.result, (True,))
                is_less = found is not None and self._is_less_work(op, is_changed, *found)
            case SliceOp() if sliced_dim(op) is not None:
                found = self._segments(op.result, (True,))
                is_less = found is not None and len(found[1]) == 1 and not _is_slice_of(op, *found)
            case CollectivePermuteOp():
                sends = self._origins.sends(op)
                return sends is not None and self._resolve_operand(op, 0, sends)
            case _:
                return False
        if found is None or not is_less:
            return is_changed
        replace_uses(op.result, self._emitted(op, op.result, *found))
        return True

    def _is_less_work(self, op: SelectOp, is_changed: bool, dim: int, segments: Segments) -> bool:
        """Return whether fewer elements are selected than by the op, or what it chooses from `is_changed`.

        No more elements may be concatenated. What a device chooses at all positions is looked up.
        """
        mask = self._known.mask(op.pred)
        if len(segments) == 1 and (is_changed or (mask is not None and mask.dim is not None)):
            return True
        selected = sum(segment.end - segment.start for segment, choices in segments if len(choices) > 1)
        if selected == segments[-1][0].end:
            return False
        return len(segments) == 1 or any(len(self._origins.of(each, dim)) > 1 for each in (op.on_true, op.on_false))

    def _resolve_selected(self, op: SelectOp) -> bool:
        """Replace what a select chooses from by what it is on the devices that choose it."""
        mask = self._known.mask(op.pred)
        if mask is None:
            return False
        size = 1 if mask.dim is None else shape_of(op.result)[mask.dim]
        chosen = enumerate((mask.holds(size, choice) for choice in (True, False)), 1)
        return True in [self._resolve_operand(op, index, devices) for index, devices in chosen]

    def _resolve_operand(
        self, op: Operation, index: int, needed: tuple[bool, ...], depth: int = MOST_ELEMENTWISE
    ) -> bool:
        """Replace an operand, or what it is computed from element by element, by what it is on the devices in need."""
        value = op.operands[index]
        producer, found = value.owner, self._segments(value, needed)
        if found is not None and len(found[1]) == 1:
            ((_, ((origin, devices), *_)),) = found[1]
            is_slice = isinstance(producer, SliceOp) and _is_slice_of(producer, *found)
            if devices is None and isinstance(origin, Moved) and origin.value is not value and not is_slice:
                op.operands[index] = self._emitted(op, value, *found)
                return True
        if not (depth and isinstance(producer, Operation) and is_elementwise(producer) and value.has_one_use()):
            return False
        return True in [self._resolve_operand(producer, at, needed, depth - 1) for at in range(len(producer.operands))]

    def _segments(self, value: SSAValue, needed: tuple[bool, ...]) -> tuple[int, Segments] | None:
        """Return the dim of the segments of a value, and the segments with at most two origins on the devices in need.

        Return None if these are not known.
        """
        if not static_shape(value.type):
            return None
        dim = self._origins.dim_of(value) or 0
        segments = self._origins.of(value, dim)
        chosen = [(segment, self._fewest(segment.origins, needed)) for segment in segments]
        found = [(segment, choices) for segment, choices in chosen if choices is not None]
        return (dim, found) if len(found) == len(chosen) else None

    def _fewest(self, origins: tuple[Origin, ...], needed: tuple[bool, ...]) -> Sequence[Choice] | None:
        """Return one origin that holds on all devices in need, or two and the devices that need the first one."""
        wanted = {entry(origins, device) for device in devices_of(origins, needed) if entry(needed, device)}
        if len(wanted) > MOST_CHOSEN:
            return None
        distinct = dict.fromkeys(origins)
        tried = wanted if len(distinct) > MOST_CHOSEN else distinct
        holds = {each: self._holds(each, origins) for each in distinct if each in tried}
        for each, held in holds.items():
            if all(entry(held, device) or not entry(needed, device) for device in devices_of(held, needed)):
                return [(each, None)]
        for (one, held), (other, held_too) in combinations(holds.items(), 2):
            if all(entry(held, device) or entry(held_too, device) for device in devices_of(held, held_too)):
                return [(one, held), (other, None)]
        return None

    def _holds(self, origin: Origin, origins: tuple[Origin, ...]) -> tuple[bool, ...]:
        """Return the devices on which a value is `origin`: what a permute does not send is zero."""
        received, zero = None, None
        if isinstance(origin, Moved) and isinstance(origin.value.owner, CollectivePermuteOp):
            received, zero = self._origins.receives(origin.value.owner), zero_of(origin.value)
        if received is None:
            return shortened([each == origin for each in origins])
        pairs = [(entry(origins, device), entry(received, device)) for device in devices_of(origins, received)]
        return shortened([each == origin or (each == zero and not is_received) for each, is_received in pairs])

    def _emitted(self, before: Operation, value: SSAValue, dim: int, segments: Segments) -> SSAValue:
        """Return a value made of segments."""
        emit = Emitter(before, self._style)
        parts = [self._part(emit, value, dim, segment, choices) for segment, choices in segments]
        return emit.concatenate(parts, dim)

    def _part(self, emit: Emitter, value: SSAValue, dim: int, segment: Segment, choices: Sequence[Choice]) -> SSAValue:
        parts = list(_parts(emit, value, dim, segment, [origin for origin, _ in choices]))
        devices = choices[0][1]
        if devices is None:
            return parts[0]
        mask = device_mask(emit, list(map(int, devices)), device_number(emit), tensor_of(parts[0]))
        return emit.select(mask, *parts)


def _parts(emit: Emitter, value: SSAValue, dim: int, segment: Segment, origins: Sequence[Origin]) -> Iterator[SSAValue]:
    """Yield the elements of each origin at the positions of a segment."""
    for origin in origins:
        if isinstance(origin, Moved):
            yield slice_along(emit, origin.value, dim, segment.start + origin.shift, segment.end + origin.shift)
        else:
            sizes = list(shape_of(value))
            sizes[dim] = segment.end - segment.start
            yield emit.constant_of(DenseElementsAttr.from_bytes(with_shape(value, sizes), origin.raw))


def _is_slice_of(op: SliceOp, dim: int, segments: Segments) -> bool:
    """Return whether a slice already takes its one segment from where it originates, or two origins remain."""
    ((_, choices),) = segments
    return len(choices) > 1 or choices[0][0] == Moved(op.operand, op.start_indices.get_values()[dim])
