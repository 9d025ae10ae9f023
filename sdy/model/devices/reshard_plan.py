"""Plans that move a tensor from any sharding on any mesh to any other: which device sends which part to which.

A part of the tensor that lies in one source shard and one target shard is a *block*. It is split among the devices of
the target shard; each receives its part from a device of the source shard, and forwards them to the others, so that
no device of the source sends a byte twice unless it has time for it. Source: docs/spec/08, 5.6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import counted
from sdy.model.devices.balanced_sends import Block, Shares, balanced, bound_of_busy, levelled
from sdy.model.devices.boxes import Box, boxes_of_range, is_within, volume
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digit_of, digits_at
from sdy.model.sharding import DimSharding, TensorSharding

LEAST_PER_RECEIVER = 20  # elements of a block that is split among its receivers; smaller ones cannot be in equal parts
# How finely blocks are split: small blocks together have at least four times so many parts, and large ones are split
# between rows that are smaller by so much. Then the busiest link carries at most so many times what it must.
FINENESS, SLACK = 16, 1.05


class Send(NamedTuple):
    """A part of a tensor that one device sends to another: `box` has the start and the end of it in each dim.

    A device forwards only what it received in an earlier round, or what it had before.
    """

    source: int
    target: int
    box: Box
    round: int = 0

    @property
    def elements(self) -> int:
        """The number of elements."""
        return volume(self.box)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part as slices of the global tensor."""
        return tuple(slice(*each) for each in self.box)


class Read(NamedTuple):
    """A part of a stored shard that a device reads: `stored` is the place of the shard, and `box` that of the part."""

    device: int
    stored: Box
    box: Box

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part as slices of the stored shard."""
        return tuple(
            slice(low - first, high - first) for (low, high), (first, _) in zip(self.box, self.stored, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of a tensor: for each box with elements, the devices that hold it, in the order of the mesh.

    `sizes` are those of one shard, with the padding of uneven dims.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    devices: Mapping[Box, tuple[int, ...]]

    def parts_of(self, box: Box) -> Iterator[tuple[Box, Box]]:
        """Yield the shards that a box meets, and the parts of the box in them, in row-major order."""
        ranges = [range(low // size, -(-high // size)) for (low, high), size in zip(box, self.sizes, strict=True)]
        for indices in product(*ranges):
            first = [index * size for index, size in zip(indices, self.sizes, strict=True)]
            ends = [min(low + size, end) for low, size, end in zip(first, self.sizes, self.shape, strict=True)]
            shard = tuple(zip(first, ends, strict=True))
            yield shard, tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, shard, strict=True))


@dataclass(frozen=True)
class ReshardPlan:
    """The sends that turn the shards of `source` into those of `target`.

    `copies` has what devices hold already, as sends to themselves. A tensor with partial values has a first dim more,
    with an index per partial value.
    """

    shape: tuple[int, ...]
    source: TensorSharding
    target: TensorSharding
    sends: tuple[Send, ...]
    copies: tuple[Send, ...]
    lower_bound: int

    @cached_property
    def sent(self) -> dict[int, int]:
        """The number of elements that each device sends."""
        return _totals((each.source, each.elements) for each in self.sends)

    @cached_property
    def received(self) -> dict[int, int]:
        """The number of elements that each device receives."""
        return _totals((each.target, each.elements) for each in self.sends)

    @property
    def busiest(self) -> int:
        """The number of elements on the busiest link: each device has one in each direction."""
        return max((*self.sent.values(), *self.received.values()), default=0)

    def sends_of(self, device: int) -> list[Send]:
        """Return what a device sends, round by round."""
        return [each for each in self.sends if each.source == device]

    def reads(self) -> list[Read]:
        """Return what each device of the target reads of shards that the source stored: every part of its own shard."""
        return list(_reads(self.source, self.target, self.shape))

    def __repr__(self) -> str:
        """Return one line: the numbers of sends and of elements."""
        return f"ReshardPlan({counted(len(self.sends), 'send')}, {self.busiest:,} elements on the busiest link)"


def reshard_plan(
    source: TensorSharding,
    target: TensorSharding,
    shape: Sequence[int],
    *,
    source_devices: Sequence[int] = (),
    target_devices: Sequence[int] = (),
    round_elements: int | None = None,
) -> ReshardPlan:
    """Return the sends from the shards of `source` to those of `target` of a tensor of this global shape.

    Both shardings have their mesh inlined: `sdy.parse_sharding('<mesh<["x"=4]>, [{"x"}, {}]>')`. The meshes may have
    any axes. Their devices have the ids of the meshes, or those given, in the order of the mesh; devices with the same
    id are the same device. Dims may be uneven. The busiest link carries at most 1.05 times what it must, but for the
    rounding of small tensors. In a round, no device sends or receives more than `round_elements`, so that buffers of
    this size are enough; by default, everything is sent in one round.
    Raises: SdyError SDY-S080 if a sharding names its mesh, does not have a dim per size, or has other partial values
    than the other one; SDY-S081 if the number of devices or of elements per round is wrong.
    """
    hint = """sdy.parse_sharding('<mesh<["x"=4]>, [{"x"}]>') returns one"""
    for sharding, name in ((source, "source"), (target, "target")):
        require_type(sharding, TensorSharding, f"sdy.reshard_plan: {name}", hint)
        _check(sharding, shape)
    if round_elements is not None and round_elements < 1:
        raise SdyError(Diagnostic("SDY-S081", f"expected at least one element per round, got {round_elements}"))
    before, after = _on_devices(source, source_devices), _on_devices(target, target_devices)
    _check_partial(before, after)
    return _plan(before, after, tuple(shape), round_elements)


def _on_devices(sharding: TensorSharding, devices: Sequence[int]) -> TensorSharding:
    if not devices:
        return sharding
    mesh = mesh_of(sharding)
    if len(set(devices)) != mesh.device_count or len(devices) != mesh.device_count:
        message = f"expected {mesh.device_count} different devices for {mesh!r}, got {list(devices)}"
        raise SdyError(Diagnostic("SDY-S081", message))
    ids = tuple(devices[position] for position in mesh.listed_devices())
    return replace(sharding, mesh=Mesh(mesh.axes, ids))


@lru_cache(maxsize=4096)  # the layers of a model have the same shapes and shardings
def _plan(
    source: TensorSharding, target: TensorSharding, shape: tuple[int, ...], round_elements: int | None
) -> ReshardPlan:
    before, full = _with_partial_dim(source, shape)
    after, _ = _with_partial_dim(target, shape)
    shards, wanted = shards_of(before, full), shards_of(after, full)
    blocks, copies = _blocks(shards, wanted)
    shares = balanced(blocks, {*_devices(shards), *_devices(wanted)})
    plan = ReshardPlan(full, before, after, (), tuple(copies), shares.lower_bound)
    plan = replace(plan, sends=tuple(_sends(blocks, shares)))
    if plan.busiest > SLACK * plan.lower_bound:
        plan = replace(plan, sends=tuple(_levelled(plan)))
        plan = replace(plan, lower_bound=max(plan.lower_bound, bound_of_busy(blocks, plan.sent)))
    if round_elements is not None:
        plan = replace(plan, sends=tuple(_in_rounds(plan.sends, round_elements)))
    return plan


def shards_of(sharding: TensorSharding, shape: tuple[int, ...]) -> Shards:
    """Return the shards of a tensor, without those that only have padding."""
    mesh = mesh_of(sharding)
    digits = [[digit_of(ref, mesh) for ref in dim.axes] for dim in sharding.dims]
    counts = [prod(digit.size for digit in each) for each in digits]
    sizes = tuple(-(-size // count) for size, count in zip(shape, counts, strict=True))
    found: dict[Box, list[int]] = {}
    for position, device in enumerate(mesh.listed_devices()):
        box: list[tuple[int, int]] = []
        for each, size, full in zip(digits, sizes, shape, strict=True):
            index = digits_at(position, each)
            box.append((index * size, min((index + 1) * size, full)))
        if all(low < high for low, high in box):
            found.setdefault(tuple(box), []).append(device)
    return Shards(shape, sizes, {box: tuple(devices) for box, devices in found.items()})


def mesh_of(sharding: TensorSharding) -> Mesh:
    """Return the mesh that a sharding inlines. Raises: SdyError SDY-S080 if it names one."""
    if isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    hint = (
        """inline the mesh, with the ids of its devices: dataclasses.replace(sharding, mesh=sdy.parse_mesh('<...>'))"""
    )
    raise SdyError(Diagnostic("SDY-S080", f"{sharding} names its mesh, whose devices are not known", hint=hint))


def _check(sharding: TensorSharding, shape: Sequence[int]) -> None:
    mesh = mesh_of(sharding)
    if sharding.rank != len(shape):
        message = f"{sharding!r} has {sharding.rank} dims, the tensor {len(shape)}: {list(shape)}"
        raise SdyError(Diagnostic("SDY-S080", message))
    missing = next((ref for ref in sharding.axis_refs() if not mesh.has_axis(ref.name)), None)
    if missing is not None:
        raise SdyError(Diagnostic("SDY-S080", f"{sharding!r}: the mesh has no axis {missing}"))


def _check_partial(source: TensorSharding, target: TensorSharding) -> None:
    counts = [[mesh_of(each).size_of(ref) for ref in each.unreduced] for each in (source, target)]
    if prod(counts[0]) != prod(counts[1]) or (counts[0] and source.unreduced_kind is not target.unreduced_kind):
        message = f"{source!r} has {prod(counts[0])} partial values, {target!r} {prod(counts[1])}"
        raise SdyError(Diagnostic("SDY-S080", message, hint="reduce the tensor before or after it is moved"))


def _with_partial_dim(sharding: TensorSharding, shape: tuple[int, ...]) -> tuple[TensorSharding, tuple[int, ...]]:
    """Return a sharding without partial values, whose first dim numbers them, and the shape of the tensor then."""
    if not sharding.unreduced:
        return sharding, shape
    mesh = mesh_of(sharding)
    dims = (DimSharding(sharding.unreduced), *sharding.dims)
    return TensorSharding(mesh, dims), (prod(map(mesh.size_of, sharding.unreduced)), *shape)


def _devices(shards: Shards) -> set[int]:
    return {device for devices in shards.devices.values() for device in devices}


def _blocks(shards: Shards, wanted: Shards) -> tuple[list[Block[Box]], list[Send]]:
    """Return the blocks that devices lack, and what they hold already."""
    blocks: list[Block[Box]] = []
    copies: list[Send] = []
    for box, devices in wanted.devices.items():
        for stored, part in shards.parts_of(box):
            holders = shards.devices[stored]
            held = frozenset(holders)
            lacking = tuple(device for device in devices if device not in held)
            copies += [Send(device, device, part) for device in devices if device in held]
            if lacking:
                blocks.append(Block(part, volume(part), stored, holders, lacking))
    return blocks, copies


def _sends(blocks: Sequence[Block[Box]], balance: Shares[Box]) -> Iterator[Send]:
    """Yield the sends of large blocks, which are split by quotas, then of small ones, which devices pass on."""
    shares = balance.copy()
    small: list[Block[Box]] = []
    for block, direct in zip(blocks, shares.direct, strict=True):
        if len(block.receivers) > 1 and block.elements < LEAST_PER_RECEIVER * len(block.receivers):
            small.append(block)
            continue
        for piece in _pieces(block, direct, shares):
            for box in boxes_of_range(block.part, piece.start, piece.stop):
                yield from _sends_of_piece(block, piece, box)
    parts = -(-4 * FINENESS // max(1, len(small)))
    for block in sorted(small, key=lambda each: -each.elements):
        for start in range(0, block.elements, size := -(-block.elements // parts)):
            for box in boxes_of_range(block.part, start, min(block.elements, start + size)):
                yield from _passed_on(block, box, shares)


class _Piece(NamedTuple):
    """The elements from `start` to `stop` of a block, in row-major order, and who sends them to whom first.

    Without a receiver, the holder sends them to all that lack them.
    """

    start: int
    stop: int
    holder: int
    receiver: int | None


def _sends_of_piece(block: Block[Box], piece: _Piece, box: Box) -> Iterator[Send]:
    if piece.receiver is None:
        yield from (Send(piece.holder, device, box) for device in block.receivers)
        return
    yield Send(piece.holder, piece.receiver, box)
    yield from (Send(piece.receiver, device, box, 1) for device in block.receivers if device != piece.receiver)


def _pieces(block: Block[Box], direct: float, shares: Shares[Box]) -> Iterator[_Piece]:
    """Split a block by the quotas of those that receive it first, then by those of its holders."""
    unit = _unit(block.part, (len(block.holders) + len(block.receivers)) * FINENESS)
    received = shares.first_received[block.receivers]
    direct_end = min(block.elements, round(direct / unit) * unit)
    start = 0
    while start < block.elements:
        receiver, end, copies, sent = None, direct_end, len(block.receivers), shares.sent_again[block.stored]
        if start >= direct_end:
            receiver, copies, sent = (
                max(received, key=lambda device: received[device]),
                1,
                shares.first_sent[block.stored],
            )
            end = min(block.elements, start + max(unit, round(received[receiver] / unit) * unit))
            received[receiver] -= end - start
        while start < end:
            holder = max(sent, key=lambda device: sent[device])
            stop = min(end, start + max(unit, round(sent[holder] / copies / unit) * unit))
            sent[holder] -= copies * (stop - start)
            yield _Piece(start, stop, holder, receiver)
            start = stop


def _passed_on(block: Block[Box], box: Box, shares: Shares[Box]) -> Iterator[Send]:
    """Yield sends of a box: each from the first device to have it whose quota suffices, or the one with the largest."""
    size, forwarded = volume(box), shares.forwarded
    quotas = shares.first_sent[block.stored], shares.sent_again[block.stored]
    arrival = dict.fromkeys(block.holders, -1)
    for receiver in sorted(block.receivers, key=lambda device: -forwarded[device]):
        own = quotas[len(arrival) > len(block.holders)]
        sender = max(
            arrival,
            key=lambda device: (min(own[device] if device in own else forwarded[device], size), -arrival[device]),
        )
        (own if sender in own else forwarded)[sender] -= size
        arrival[receiver] = arrival[sender] + 1
        yield Send(sender, receiver, box, arrival[receiver])


def _unit(box: Box, most: int) -> int:
    """Return the size of the largest rows of which the box has at least `most`, or 1."""
    rows = (volume(box[dim:]) for dim in range(1, len(box) + 1))
    return next((row for row in rows if row * most <= volume(box)), 1)


def _levelled(plan: ReshardPlan) -> Iterator[Send]:
    """Yield the sends of a plan after those of busy devices were taken over by others."""
    senders: dict[Box, dict[int, int]] = defaultdict(dict)
    for send in plan.sends:
        senders[send.box][send.target] = send.source
    held = {device: box for box, devices in shards_of(plan.source, plan.shape).devices.items() for device in devices}

    def holders(box: Box) -> Iterator[int]:
        return (device for device, shard in held.items() if is_within(box, shard))

    for box, receivers in levelled(senders, holders, plan.lower_bound).items():
        for target in receivers:
            number, sender = 0, receivers[target]
            while sender in receivers:
                number, sender = number + 1, receivers[sender]
            yield Send(receivers[target], target, box, number)


def _in_rounds(sends: Sequence[Send], most: int) -> Iterator[Send]:
    """Yield parts of the sends, each in the first round in which both devices have room.

    What a device forwards goes after its arrival.
    """
    used: dict[tuple[int, bool], list[int]] = defaultdict(list)  # by device and direction, round by round
    arrival: dict[tuple[int, Box], int] = {}
    for send in sorted(sends, key=lambda each: each.round):
        for start in range(0, send.elements, most):
            for box in boxes_of_range(send.box, start, min(send.elements, start + most)):
                size = volume(box)
                ends = used[send.source, False], used[send.target, True]
                number = arrival.get((send.source, box), -1) + 1 if send.round else 0
                while any(number < len(end) and end[number] + size > most for end in ends):
                    number += 1
                for end in ends:
                    end.extend([0] * (number + 1 - len(end)))
                    end[number] += size
                arrival[send.target, box] = number
                yield Send(send.source, send.target, box, number)


def _reads(source: TensorSharding, target: TensorSharding, shape: tuple[int, ...]) -> Iterator[Read]:
    shards, wanted = shards_of(source, shape), shards_of(target, shape)
    for box, devices in wanted.devices.items():
        for stored, part in shards.parts_of(box):
            yield from (Read(device, stored, part) for device in devices)


def _totals(amounts: Iterator[tuple[int, int]]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for device, amount in amounts:
        found[device] += amount
    return dict(found)
