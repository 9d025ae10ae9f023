"""Merge permutes of one value between different devices into one. What several permutes send is sent once before that.

    before  %1 = "stablehlo.collective_permute"(%0) {3 to 0}
            %2 = "stablehlo.collective_permute"(%0) {0 to 1, 1 to 2, 2 to 3}
    after   %3 = "stablehlo.collective_permute"(%0) {0 to 1, 1 to 2, 2 to 3, 3 to 0}
            %1 = stablehlo.select %is_device_0, %3, 0
            %2 = stablehlo.select %is_device_1_2_or_3, %3, 0

Devices that receive nothing in one of them get zeros, as before. `jnp.roll` of a sharded dim makes such permutes.
Requires and ensures: the program of one device.

The convolutions of a layer with several kernels each receive the same rows of the neighboring shards: such equal
permutes become one. Causal convolutions and stencils that reach over several rows receive overlapping ones: elements
are sent once.

    before  %1 = stablehlo.slice %0 [5:8]                   after   %1 = stablehlo.slice %0 [5:8]
            %2 = "stablehlo.collective_permute"(%1)                 %2 = "stablehlo.collective_permute"(%1)
            %3 = stablehlo.slice %0 [6:8]                           %4 = stablehlo.slice %2 [1:3]
            %4 = "stablehlo.collective_permute"(%3)

What is received is kept until its last use, but only where the peak memory of the block hardly grows.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.cost.allocation.buffers import Buffers
from sdy.cost.collectives import group_rows
from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.walk import ancestor_in
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.partitioner.emit.collective_ops import device_table
from sdy.partitioner.emit.device_position import device_mask, device_number
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.partitioner.emit.slices import slice_along, sliced_dim
from sdy.passes.rewriting.insertion import erase, replace_by
from sdy.passes.rewriting.op_order import forget_order, op_order

_GROWTH = 20  # the peak may grow by one part of these for what is sent once


class FreeMemory:
    """The memory that is free at each op of a block: up to the peak of the block, and a little more."""

    def __init__(self, block: Block, peaks: PeakFinder) -> None:
        peak = peaks.of_block(block)
        peak += peak // _GROWTH
        self._free = [peak - use.most for use in peaks.lives(block).uses]
        self._position = {op: number for number, op in enumerate(block.ops)}
        self._block = block

    def keep(self, value: OpResult, until: Operation) -> bool:
        """Reserve memory for a value from its last use to an op, and return True; False if there is too little."""
        ops = (value.op, *(use.operation for use in value.uses))
        last = max(self._position[ancestor_in(self._block, op)] for op in ops)
        return self._reserve(bytes_of_tensor(value), last, self._position[until])

    def keep_from(self, size: int, first: Operation, until: Operation) -> bool:
        """Reserve memory for `size` bytes between two ops, and return True; False if there is too little."""
        return self._reserve(size, self._position[first], self._position[until])

    def _reserve(self, size: int, first: int, last: int) -> bool:
        span = range(first + 1, last)
        if any(self._free[number] < size for number in span):
            return False
        for number in span:
            self._free[number] -= size
        return True


class _ValueKeys:
    """Keys of values that are equal if permutes, slices and concatenations make them in the same way."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Hashable] = {}

    def of(self, value: SSAValue) -> Hashable:
        """Return the key of a value."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._compute(value)
        return found

    def _compute(self, value: SSAValue) -> Hashable:
        match value.owner:
            case CollectivePermuteOp() as op:
                return op.name, has_channel(op), op.source_target_pairs, self.of(op.operand)
            case SliceOp() as op:
                return op.name, op.start_indices, op.limit_indices, op.strides, self.of(op.operand)
            case ConcatenateOp() as op:
                return op.name, op.dimension, *map(self.of, op.inputs)
            case _:
                return value


@dataclass(frozen=True)
class _Sent:
    """A permute of the elements from `start` to before `limit` along a dim of `value`."""

    permute: CollectivePermuteOp
    value: SSAValue
    dim: int
    start: int
    limit: int


def _sent(permute: CollectivePermuteOp) -> _Sent:
    """Return what a permute sends: a part of a value if it sends a slice of one along one dim, else all of a value."""
    value, sliced = permute.operand, permute.operand.owner
    if isinstance(sliced, SliceOp) and (dim := sliced_dim(sliced)) is not None:
        start, limit = (each.get_values()[dim] for each in (sliced.start_indices, sliced.limit_indices))
        return _Sent(permute, sliced.operand, dim, start, limit)
    sizes = shape_of(value)
    return _Sent(permute, value, 0, 0, sizes[0] if sizes else 1)


@dataclass
class _Run:
    """Permutes whose elements overlap one after the other, in their order along the dim."""

    sent: list[_Sent] = field(default_factory=list[_Sent])

    @property
    def start(self) -> int:
        """Return the first element that is sent."""
        return self.sent[0].start

    @property
    def limit(self) -> int:
        """Return the end of what is sent."""
        return max(each.limit for each in self.sent)

    def is_sent_by(self, each: _Sent) -> bool:
        """Return whether one of the permutes sends all elements of the run."""
        return (each.start, each.limit) == (self.start, self.limit)

    def in_program_order(self, order: dict[CollectivePermuteOp, int]) -> list[_Sent]:
        """Return the permutes in the order of the program."""
        return sorted(self.sent, key=lambda each: order[each.permute])


def send_overlaps_once(module: ModuleOp) -> list[CollectivePermuteOp]:
    """Replace permutes of equal or overlapping elements by slices of one permute; return those that replace others."""
    permutes = op_order(module).of(CollectivePermuteOp)
    order = {permute: number for number, permute in enumerate(permutes)}
    runs = _runs(permutes)
    if not runs:
        return []
    peaks = PeakFinder(module, bytes_of_tensor, Buffers(module, is_compiled=False))
    memory: dict[Block, FreeMemory] = {}
    kept: list[tuple[_Run, list[_Sent]]] = []
    pending = deque(runs)
    while pending:
        run = pending.popleft()
        sent = run.in_program_order(order)
        block = sent[0].permute.parent
        assert block is not None  # in a function
        if block not in memory:
            memory[block] = FreeMemory(block, peaks)
        if _is_kept(run, sent, memory[block]):
            kept.append((run, sent))
        else:
            middle = len(sent) // 2
            pending += (*_overlapping(sent[:middle]), *_overlapping(sent[middle:]))
    return [_send_once(run, sent) for run, sent in kept]


def _is_kept(run: _Run, sent: Sequence[_Sent], memory: FreeMemory) -> bool:
    """Reserve memory for the elements of a run until the last permute; return False if there is too little."""
    first, last = sent[0], sent[-1].permute
    received = first.permute.result
    if run.is_sent_by(first):
        return memory.keep(received, last)
    size = bytes_of_tensor(received) // (first.limit - first.start) * (run.limit - run.start)
    return memory.keep_from(size, first.permute, last)


def _runs(permutes: Sequence[CollectivePermuteOp]) -> list[_Run]:
    """Return the runs of at least two permutes that overlap."""
    keys = _ValueKeys()
    groups: defaultdict[Hashable, list[_Sent]] = defaultdict(list)
    for permute in permutes:
        sent = _sent(permute)
        key = permute.parent, has_channel(permute), permute.source_target_pairs, keys.of(sent.value), sent.dim
        groups[key].append(sent)
    return [run for group in groups.values() for run in _overlapping(group)]


def _overlapping(group: Sequence[_Sent]) -> list[_Run]:
    runs: list[_Run] = []
    for each in sorted(group, key=lambda each: each.start):
        if not runs or each.start >= runs[-1].limit:
            runs.append(_Run())
        runs[-1].sent.append(each)
    return [run for run in runs if len(run.sent) > 1]


def _send_once(run: _Run, sent: Sequence[_Sent]) -> CollectivePermuteOp:
    """Let the first permute send all elements of the run, and let the others be slices of what it receives."""
    first, received = sent[0], sent[0].permute
    if not run.is_sent_by(first):
        emit = Emitter(received, Style())
        union = slice_along(emit, first.value, first.dim, run.start, run.limit)
        received = emit.op(CollectivePermuteOp, [union], [union.type], first.permute.properties)
    for each in sent:
        if each.permute is received:
            continue
        part: SSAValue = received.result
        if not run.is_sent_by(each):
            emit, start = Emitter(each.permute, Style()), each.start - run.start
            part = slice_along(emit, part, each.dim, start, each.limit - run.start)
        operand = each.permute.operand.owner
        replace_by(each.permute, part)
        if isinstance(operand, SliceOp) and operand.result.first_use is None:
            erase(operand)
    return received


class MergePermutesPass(ModulePass):
    """Share what permutes of one value send twice, and merge permutes whose sources and targets differ."""

    name = "sdy-merge-permutes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge each permute with earlier ones of its block."""
        sent_once = send_overlaps_once(op)
        for permute in sent_once:
            remark(ctx, "SDY-L126", "this permute sends once what several ops need", permute)
        if sent_once:
            forget_order(op)
        alike: defaultdict[Hashable, list[list[CollectivePermuteOp]]] = defaultdict(list)
        for permute in op_order(op).of(CollectivePermuteOp):
            groups = alike[_key(permute)]
            for group in groups:
                if not any(_overlap(permute, other) for other in group):
                    group.append(permute)
                    break
            else:
                groups.append([permute])
        found = [group for groups in alike.values() for group in groups if len(group) > 1]
        for group in found:
            message = f"merged {len(group)} permutes of one value into one"
            remark(ctx, "SDY-L126", message, group[0])
            _merge(group)
        if found:
            forget_order(op)


def _key(permute: CollectivePermuteOp) -> Hashable:
    """Return a key that is equal for permutes of one block that send equal values to devices of one kind."""
    value, sliced = permute.operand, permute.operand.owner
    if isinstance(sliced, SliceOp):
        value = sliced.operand, sliced.start_indices, sliced.limit_indices, sliced.strides
    return permute.parent, has_channel(permute), value


def _overlap(one: CollectivePermuteOp, other: CollectivePermuteOp) -> bool:
    """Return whether a device sends, or receives, in both."""
    pairs = [*_pairs(one), *_pairs(other)]
    return any(len(set(devices)) < len(devices) for devices in zip(*pairs, strict=True))


def _pairs(permute: CollectivePermuteOp) -> list[tuple[int, int]]:
    return [(source, target) for source, target in group_rows(permute.source_target_pairs)]


def _merge(permutes: Sequence[CollectivePermuteOp]) -> None:
    first = permutes[0]
    emit = Emitter(first, Style(counts_replicas=not has_channel(first)))
    pairs = sorted(pair for permute in permutes for pair in _pairs(permute))
    properties = {**first.properties, "source_target_pairs": device_table(pairs)}
    received = emit.value(CollectivePermuteOp, [first.operand], first.result.type, properties)
    number = device_number(emit)
    for permute in permutes:
        targets = [target for _, target in _pairs(permute)]
        permute.result.replace_all_uses_with(_received_by(emit, received, number, targets))
    for permute in permutes:
        erase(permute)


def _received_by(emit: Emitter, value: SSAValue, number: SSAValue, targets: Sequence[int]) -> SSAValue:
    """Return the value on the target devices, and zeros on all others."""
    # The last entry is that of all devices with higher numbers: a slice starts within the table.
    is_target = [int(device in targets) for device in range(max(targets) + 2)]
    tensor = tensor_of(value)
    return emit.select(device_mask(emit, is_target, number, tensor), value, emit.constant(tensor, [0]))
