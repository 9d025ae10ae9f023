"""The differences of two partitioned programs: annotations, shardings, collectives, time and memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.advice.collectives import CausesOnce, Collective
from sdy.advice.matching import Matching, match_programs
from sdy.advice.partition_summary import PartitionSummary, axes_of_dims
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.shardings import function_result_sharding, sharding_of
from sdy.documents.document import document
from sdy.model.axis import AxisList
from sdy.model.html_repr import HtmlRepr
from sdy.model.sharding import TensorSharding
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.explanation.value_names import line_of

MAX_SHARDINGS = 20  # changed shardings that the text lists; JSON has all
MAX_COLLECTIVES = 20  # changed collectives that the text lists


@dataclass(frozen=True, slots=True)
class ShardingChange:
    """A value with other axes, by its name in each program; a sharding is empty text where there is none."""

    old_name: str
    new_name: str
    old: str
    new: str

    def __str__(self) -> str:
        name = self.old_name if self.old_name == self.new_name else f"{self.old_name} (now {self.new_name})"
        return f"{name}: {self.old or 'none'} -> {self.new or 'none'}"


@dataclass(frozen=True, slots=True)
class CollectiveChange:
    """A collective of the old program, of the new one, or of both if it moved to another op or sends other bytes.

    In `short_causes`, long paths of propagation are without their middle.
    """

    old: Collective | None
    new: Collective | None
    causes: tuple[str, ...] = ()
    short_causes: tuple[str, ...] = ()

    @property
    def bytes_sent(self) -> float:
        """The bytes that each device sends in the program where it sends more."""
        return max(each.bytes_sent for each in (self.old, self.new) if each is not None)

    def __str__(self) -> str:
        if self.old is None:
            return f"+ {self.new}"
        if self.new is None:
            return f"- {self.old}"
        if round(self.old.bytes_sent) == round(self.new.bytes_sent):
            return f"~ {self.new}, before at {self.old.source}"
        return f"~ {self.new}, before {round(self.old.bytes_sent):,} bytes"


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of one program on a device."""

    bytes_sent: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class ProgramDiff(HtmlRepr):
    """The differences of two programs. Ops are counted that only one of the programs has."""

    machine: str
    old: Totals
    new: Totals
    added_ops: int = 0
    removed_ops: int = 0
    annotations: Sequence[ShardingChange] = field(default_factory=list[ShardingChange])
    shardings: Sequence[ShardingChange] = field(default_factory=list[ShardingChange])
    collectives: Sequence[CollectiveChange] = field(default_factory=list[CollectiveChange])
    axes: tuple[str, ...] = ()  # of the mesh of the new program, in order

    def __bool__(self) -> bool:
        """Return whether there is any difference; the order of ops, on which peak memory depends, is none."""
        changes = self.annotations or self.shardings or self.collectives
        return bool(changes) or bool(self.added_ops or self.removed_ops)

    def __str__(self) -> str:
        """Return the differences as lines of text."""
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        """Return one line: how many shardings and collectives differ, and the bytes sent."""
        counts = f"{counted(len(self.shardings), 'sharding')}, {counted(len(self.collectives), 'collective')}"
        return f"ProgramDiff({counts}; bytes sent {self.old.bytes_sent:,} -> {self.new.bytes_sent:,})"

    def _lines(self) -> Iterator[str]:
        if not self:
            yield "no difference in ops, annotations, shardings or collectives"
            return
        if self.added_ops or self.removed_ops:
            yield f"ops: {self.added_ops} added, {self.removed_ops} removed"
        yield from _section("annotations", self.annotations)
        yield from _section("shardings", self.shardings[:MAX_SHARDINGS])
        if len(self.shardings) > MAX_SHARDINGS:
            yield f"  and {len(self.shardings) - MAX_SHARDINGS} more"
        yield from _collective_lines(self.collectives)
        yield f"on one device of {self.machine}"
        yield _total("bytes sent", self.old.bytes_sent, self.new.bytes_sent)
        yield _total("time, without overlap, in µs", round(1e6 * self.old.seconds, 2), round(1e6 * self.new.seconds, 2))
        yield _total("peak memory in bytes", self.old.peak_bytes, self.new.peak_bytes)

    def to_json(self) -> dict[str, object]:
        """Return the differences as plain data."""
        return document("Difference", self, ops={"added": self.added_ops, "removed": self.removed_ops})


def diff(old: PartitionSummary, new: PartitionSummary) -> ProgramDiff:
    """Return the differences of two programs on one machine."""
    programs = old.compiled, new.compiled
    matching = match_programs(
        programs[0].written, programs[1].written, programs[0].origin.argument_names, programs[1].origin.argument_names
    )
    return ProgramDiff(
        new.hardware.name,
        _totals(old),
        _totals(new),
        len(matching.added),
        len(matching.removed),
        list(_annotation_changes(matching, old, new)),
        list(_sharding_changes(matching, old, new)),
        list(_collective_changes(matching, old, new)),
        tuple(axis.name for axis in new.compiled.mesh.axes),
    )


def _totals(facts: PartitionSummary) -> Totals:
    return Totals(round(facts.bytes_sent), facts.seconds, facts.peak_bytes)


# Shardings


def _annotation_changes(matching: Matching, old: PartitionSummary, new: PartitionSummary) -> Iterator[ShardingChange]:
    """Yield the annotations that were added, removed or changed, those of results last."""
    names = old.explainer.names, new.explainer.names
    annotated = [_annotations(facts.compiled.written) for facts in (old, new)]
    for value, counterpart in matching.values.items():
        before, after = annotated[0].get(value, []), annotated[1].get(counterpart, [])
        texts = [", ".join(map(dims_text, each)) for each in (before, after)]
        if texts[0] != texts[1]:
            yield ShardingChange(names[0][value], names[1][counterpart], *texts)
    mains = [main_function(facts.compiled.written) for facts in (old, new)]
    for index in range(min(len(main.function_type.outputs) for main in mains)):
        texts = [_text(function_result_sharding(main, index)) for main in mains]
        if texts[0] != texts[1]:
            yield ShardingChange(f"result {index}", f"result {index}", *texts)


def _annotations(module: ModuleOp) -> dict[SSAValue, list[TensorSharding]]:
    """Return the annotations of each value: its own, and those of the sharding constraints on it."""
    found: dict[SSAValue, list[TensorSharding]] = defaultdict(list)
    for op in pre_order(module):
        if isinstance(op, ShardingConstraintOp):
            value = op.input
            while isinstance(value.owner, ShardingConstraintOp):
                value = value.owner.input
            found[value].append(op.sharding.data)
            continue
        arguments = op.body.blocks[0].args if isinstance(op, FuncOp) and op.body.blocks else ()
        for value in (*op.results, *arguments):
            sharding = sharding_of(value)
            if sharding is not None:
                found[value].append(sharding)
    return found


def _sharding_changes(matching: Matching, old: PartitionSummary, new: PartitionSummary) -> Iterator[ShardingChange]:
    """Yield the values that propagation shards along other axes."""
    explainers = old.explainer, new.explainer
    for value, counterpart in matching.values.items():
        before, after = explainers[0].values.shardings(value), explainers[1].values.shardings(counterpart)
        if [_axes(each) for each in before] != [_axes(each) for each in after]:
            texts = (", ".join(map(_text, dict.fromkeys(each))) for each in (before, after))
            yield ShardingChange(explainers[0].names[value], explainers[1].names[counterpart], *texts)


def _axes(sharding: TensorSharding | None) -> tuple[AxisList, ...] | None:
    """Return the axes of each dim; None if no dim has any."""
    axes = () if sharding is None else axes_of_dims(sharding)
    return axes if any(axes) else None


def _text(sharding: TensorSharding | None) -> str:
    return "" if sharding is None else dims_text(sharding)


# Collectives


def _collective_changes(matching: Matching, old: PartitionSummary, new: PartitionSummary) -> Iterator[CollectiveChange]:
    """Yield the collectives that changed, the costliest first; those of equal kind, axes and bytes at one op match."""
    lines = dict(_line_pairs(matching, old.compiled.written, new.compiled.written))
    waiting: dict[object, list[Collective]] = defaultdict(list)
    for each in new.collectives:
        waiting[each.line, each.kind, each.axes].append(each)
    changed: list[CollectiveChange] = []
    gone: list[Collective] = []
    for each in old.collectives:
        candidates = waiting.get((lines.get(each.line, each.line), each.kind, each.axes))
        if not candidates:
            gone.append(each)
            continue
        same = next((other for other in candidates if _is_same(each, other)), candidates[0])
        candidates.remove(same)
        if not _is_same(each, same):
            changed.append(_changed(each, same, new))
    left = [each for candidates in waiting.values() for each in candidates]
    changed += _moved_or_gone(gone, left, new)
    yield from sorted(changed, key=lambda change: -change.bytes_sent)


def _moved_or_gone(
    gone: Sequence[Collective], left: Sequence[Collective], new: PartitionSummary
) -> Iterator[CollectiveChange]:
    """Match the rest by kind, axes and bytes: these moved to another op. The others came or went."""
    rest = list(left)
    for each in gone:
        alike = (other for other in rest if (other.kind, other.axes) == (each.kind, each.axes))
        moved = next((other for other in alike if _is_same(each, other)), None)
        if moved is None:
            yield CollectiveChange(each, None)
        else:
            rest.remove(moved)
            yield _changed(each, moved, new)
    for each in rest:
        yield _changed(None, each, new)


def _changed(old: Collective | None, new: Collective, facts: PartitionSummary) -> CollectiveChange:
    return CollectiveChange(old, new, facts.causes_of(new), facts.causes_of(new, is_short=True))


def _is_same(one: Collective, other: Collective) -> bool:
    return (one.runs, round(one.bytes_sent)) == (other.runs, round(other.bytes_sent))


def _line_pairs(matching: Matching, old: ModuleOp, new: ModuleOp) -> Iterator[tuple[int | None, int | None]]:
    """Yield the lines of matching ops, and those of the main functions, where arguments and results are resharded."""
    yield from ((line_of(op), line_of(counterpart)) for op, counterpart in matching.ops.items())
    yield line_of(main_function(old)), line_of(main_function(new))


# Text


def _section(title: str, changes: Sequence[ShardingChange]) -> Iterator[str]:
    if changes:
        yield title
        yield from (f"  {change}" for change in changes)


def _collective_lines(changes: Sequence[CollectiveChange]) -> Iterator[str]:
    """Yield the changes that send most, each cause once, and how many more there are."""
    given = CausesOnce()
    if changes:
        yield "collectives"
    for change in changes[:MAX_COLLECTIVES]:
        yield f"  {change}"
        if change.new is not None:
            yield from (f"      {line}" for line in given.lines(change.new, change.short_causes))
    if len(changes) > MAX_COLLECTIVES:
        most = round(changes[MAX_COLLECTIVES].bytes_sent)
        yield f"  and {len(changes) - MAX_COLLECTIVES} more, of at most {most:,} bytes each"


def _total(name: str, old: float, new: float) -> str:
    change = f" ({(new - old) / old:+.1%})" if old and old != new else ""
    return f"  {name}: {old:,} -> {new:,}{change}" if old != new else f"  {name}: {old:,}"
