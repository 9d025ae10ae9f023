"""Send elements once that several permutes of slices of one value send to the same devices.

    before  %1 = stablehlo.slice %0 [5:8]                   after   %1 = stablehlo.slice %0 [5:8]
            %2 = "stablehlo.collective_permute"(%1)                 %2 = "stablehlo.collective_permute"(%1)
            %3 = stablehlo.slice %0 [6:8]                           %4 = stablehlo.slice %2 [1:3]
            %4 = "stablehlo.collective_permute"(%3)

Causal convolutions and stencils that reach over several rows make such permutes: each shift receives its own rows of
the neighboring shard. What is received is kept until its last use, but only where the peak memory of the block hardly
grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.export.collectives.free_memory import FreeMemory
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import op_order


@dataclass(frozen=True)
class _Sent:
    """A permute of a slice: the elements from `start` to before `limit` along a dim."""

    permute: CollectivePermuteOp
    dim: int
    start: int
    limit: int


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

    def in_program_order(self, order: dict[CollectivePermuteOp, int]) -> list[_Sent]:
        """Return the permutes in the order of the program."""
        return sorted(self.sent, key=lambda each: order[each.permute])


def send_overlaps_once(module: ModuleOp) -> list[CollectivePermuteOp]:
    """Replace permutes of overlapping slices by slices of one permute; return those that replace others."""
    permutes = op_order(module).of(CollectivePermuteOp)
    order = {permute: number for number, permute in enumerate(permutes)}
    runs = _runs(permutes)
    if not runs:
        return []
    peaks = PeakFinder(module, bytes_of_tensor, is_compiled=False)
    memory: dict[Block, FreeMemory] = {}
    kept: list[tuple[_Run, list[_Sent]]] = []
    for run in runs:
        sent = run.in_program_order(order)
        block = sent[0].permute.parent
        assert block is not None  # in a function
        if block not in memory:
            memory[block] = FreeMemory(block, peaks)
        if _is_kept(run, sent, memory[block]):
            kept.append((run, sent))
    return [_send_once(run, sent) for run, sent in kept]


def _is_kept(run: _Run, sent: Sequence[_Sent], memory: FreeMemory) -> bool:
    """Reserve memory for the elements of a run until the last permute; return False if there is too little."""
    first, last = sent[0], sent[-1].permute
    received = first.permute.result
    if (first.start, first.limit) == (run.start, run.limit):
        return memory.keep(received, last)
    size = bytes_of_tensor(received) // (first.limit - first.start) * (run.limit - run.start)
    return memory.keep_from(size, first.permute, last)


def _runs(permutes: Sequence[CollectivePermuteOp]) -> list[_Run]:
    """Return the runs of at least two permutes that overlap."""
    groups: defaultdict[Hashable, list[_Sent]] = defaultdict(list)
    for permute in permutes:
        sliced = permute.operand.owner
        if not isinstance(sliced, SliceOp) or any(step != 1 for step in sliced.strides.get_values()):
            continue
        starts, limits = list(sliced.start_indices.get_values()), list(sliced.limit_indices.get_values())
        sizes = shape_of(sliced.operand)
        dims = [dim for dim, size in enumerate(sizes) if (starts[dim], limits[dim]) != (0, size)]
        if len(dims) == 1:
            (dim,) = dims
            key = permute.parent, has_channel(permute), permute.source_target_pairs, sliced.operand, dim
            groups[key].append(_Sent(permute, dim, starts[dim], limits[dim]))
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
    first = sent[0]
    sliced = first.permute.operand.owner
    assert isinstance(sliced, SliceOp)
    emit = Emitter(first.permute, Style())
    union = slice_along(emit, sliced.operand, first.dim, run.start, run.limit)
    received = emit.op(CollectivePermuteOp, [union], [union.type], first.permute.properties)
    for each in sent:
        start, limit = each.start - run.start, each.limit - run.start
        part = slice_along(Emitter(each.permute, Style()), received.result, first.dim, start, limit)
        each.permute.result.replace_all_uses_with(part)
    for each in sent:
        sliced = each.permute.operand.owner
        erase(each.permute)
        if isinstance(sliced, SliceOp) and sliced.result.first_use is None:
            erase(sliced)
    return received
