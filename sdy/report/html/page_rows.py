"""The rows of the page: the ops of a program on global shapes, the collectives with their times, and the live bytes.

Tables store data that many rows share once: types with shardings, and steps of propagation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.compile.origin import Origin
from sdy.cost.collectives import bytes_sent
from sdy.cost.memory import PeakValues
from sdy.cost.schedule import CollectiveRun, ScheduledOp
from sdy.dialects.data_flow import op_of
from sdy.dialects.facts.traits import collective_kind, has_region_on_elements
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sharded_types import element_bytes, local_type, static_shape, tensor_bytes
from sdy.dialects.shardings import argument_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.grammar.write import (
    write_sharding,
)
from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.shape import local_shape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.repetition import likely_periods, periodic_parts
from sdy.propagation.trace import PathLink
from sdy.report.explanation.causes import CollectiveCauses, resharded_arguments
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.value_names import ValueNames, line_of

Json = dict[str, object]
TypeKey = tuple[Attribute, TensorSharding | None]


def axis_cells(axes: Iterable[AxisRef]) -> list[list[str]]:
    """Return the name of each axis, which selects its colour, and its text."""
    return list(map(axis_cell, axes))


@cache
def axis_cell(axis: AxisRef) -> list[str]:
    """Return the name of an axis and its text; callers do not change the list."""
    return [axis.name, str(axis).replace('"', "")]


@dataclass
class TypeTable:
    """The distinct pairs of a type and a sharding, numbered."""

    meshes: MeshTable
    rows: list[Json] = field(default_factory=list[Json])
    _numbers: dict[TypeKey, int] = field(default_factory=dict[TypeKey, int])
    # By the ids of both, of which a program has few; the key that is kept keeps them alive.
    _by_ids: dict[tuple[int, int], tuple[TypeKey, int]] = field(
        default_factory=dict[tuple[int, int], tuple[TypeKey, int]]
    )

    def number(self, value: SSAValue, sharding: TensorSharding | None = None) -> int:
        """Return the index of the row of a value, with its own sharding if `sharding` is None."""
        key = value.type, sharding_of(value) if sharding is None else sharding
        ids = id(key[0]), id(key[1])
        if ids not in self._by_ids:
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(self._row(*key))
            self._by_ids[ids] = key, self._numbers[key]
        return self._by_ids[ids][1]

    def _row(self, global_type: Attribute, sharding: TensorSharding | None) -> Json:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, self.meshes)
        local = global_type
        if sharding is not None and mesh is not None:
            local = local_type(global_type, sharding, mesh) or global_type
        tensor, shape = as_tensor(global_type), static_shape(global_type)
        sizes = [tensor_bytes(global_type), tensor_bytes(local)]
        row: Json = {"type": str(global_type), "local": str(local), "bytes": sizes}
        if tensor is not None and shape is not None:
            dims = [()] * len(shape) if sharding is None or not sharding.dims else [dim.axes for dim in sharding.dims]
            cells = [[size, axis_cells(axes)] for size, axes in zip(shape, dims, strict=False)]
            row |= {"element": str(tensor.element_type), "dims": cells}
        if sharding is not None:
            row |= {"sharding": write_sharding(sharding), "unreduced": axis_cells(sharding.unreduced)}
        return row


class StepTable:
    """The propagation steps of axes. Each step refers to the previous one, so that chains share common prefixes.

    `describe` returns the line and the text of the last step of a path.
    """

    def __init__(self, describe: Callable[[PathLink], tuple[str, str]]) -> None:
        self.rows: list[tuple[int, str, str]] = []  # previous, line, text
        self._describe = describe
        self._of_links: dict[PathLink, int] = {}
        self._numbers: dict[tuple[int, str, str], int] = {}

    def number(self, path: PathLink) -> int:
        """Return the index of the last step of a path."""
        pending: list[PathLink] = []
        link: PathLink | None = path
        while link is not None and link not in self._of_links:
            pending.append(link)
            link = link.before
        last = -1 if link is None else self._of_links[link]
        for each in reversed(pending):
            key = (last, *self._describe(each))
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(key)
            last = self._of_links[each] = self._numbers[key]
        return last


ARGUMENT = "argument"


class ProgramRow(NamedTuple):
    """The row of an op, or of an argument of a function or region. Rows are lists in the JSON data to save space."""

    depth: int
    op: str
    results: list[int]  # indices into the list of values
    operands: list[int]
    line: int | None
    sent: tuple[str, str, int] | None  # for a collective: its kind, its axes, the bytes that each device sends


class ValueEntry(NamedTuple):
    """A value. `origins` lists the axes of its sharding: the dim, the axis, and the index of the last step."""

    name: str
    kind: int
    origins: list[tuple[int, list[str], int]]
    label: str  # the name in the user's program, or an empty string


class ProgramRows:
    """The rows of `module`, the partitioned form of the module `written` by the user.

    `explainer` provides the origins of the axes.
    """

    def __init__(
        self, written: ModuleOp, module: ModuleOp, explainer: Explainer, argument_names: Sequence[str] = ()
    ) -> None:
        self._explainer = explainer
        self._counterparts = Counterparts(written, module)
        self._meshes = meshes_of(module)
        self._types = TypeTable(self._meshes)
        self._steps = StepTable(explainer.descriptions.step)
        self._values: list[ValueEntry] = []
        self._numbers: dict[SSAValue, int] = {}
        self._inserted: dict[str, int] = {}
        main = main_function(module)
        self._labels: Mapping[SSAValue, str] = dict(zip(main.body.block.args, argument_names, strict=False))
        self._functions = [self._function(func) for func in functions_of(module).values() if func.body.blocks]

    def to_json(self) -> Json:
        """Return the JSON data of the program section of the page."""
        return {
            "functions": self._functions,
            "values": self._values,
            "kinds": self._types.rows,
            "steps": self._steps.rows,
        }

    def _function(self, func: FuncOp) -> Json:
        rows: list[ProgramRow] = []
        for index, argument in enumerate(func.body.block.args):
            number = self._enter(argument, self._types.number(argument, argument_sharding(func, index)))
            rows.append(ProgramRow(0, ARGUMENT, [number], [], line_of(func), None))
        self._add_block(func.body.block, 0, rows)
        repeats = [[each.start, each.period, each.count] for each in repeats_in([self._signature(row) for row in rows])]
        return {"name": func.sym_name.data, "rows": rows, "repeats": repeats}

    def _add_block(self, block: Block, depth: int, rows: list[ProgramRow]) -> None:
        for op in ops_in(block):
            rows.append(self._row(op, depth))
            for inner in () if has_region_on_elements(op) else blocks_of(op):
                for argument in inner.args:
                    number = self._enter(argument, self._types.number(argument))
                    rows.append(ProgramRow(depth + 1, ARGUMENT, [number], [], line_of(op), None))
                self._add_block(inner, depth + 1, rows)

    def _row(self, op: Operation, depth: int) -> ProgramRow:
        operands = [self._numbers[operand] for operand in operands_of(op)]
        results = [self._enter(result, self._types.number(result)) for result in op.results]
        sent = _sent(op, self._meshes) if isinstance(op, CollectiveOp) else None
        return ProgramRow(depth, op.name, results, operands, line_of(op), sent)

    def _enter(self, value: SSAValue, kind: int) -> int:
        """Add a value, and return its index."""
        written = self._counterparts.written(value)
        name = self._inserted_name(value) if written is None else self._explainer.names[written]
        origins = (
            []
            if written is None
            else [
                (dim, axis_cell(axis), self._steps.number(path)) for dim, axis, path in self._explainer.paths(written)
            ]
        )
        self._numbers[value] = len(self._values)
        self._values.append(ValueEntry(name, kind, origins, self._label(value, name)))
        return self._numbers[value]

    def _label(self, value: SSAValue, name: str) -> str:
        """Return the name of an argument in the user's program, unless it is shown already."""
        label = self._labels.get(value, "")
        return "" if label == name else label

    def _inserted_name(self, value: SSAValue) -> str:
        """Return a name for a value that is not in the user's text: the name of its op and a counter."""
        owner = value.owner
        stem = ARGUMENT if isinstance(owner, Block) else owner.name.rpartition(".")[2]
        self._inserted[stem] = self._inserted.get(stem, 0) + 1
        return f"%{stem}.{self._inserted[stem]}"

    def _signature(self, row: ProgramRow) -> tuple[object, ...]:
        """Return a key that is equal for rows that look alike."""
        return row.depth, row.op, tuple(self._values[number].kind for number in row.results)


def _sent(op: CollectiveOp, meshes: MeshTable) -> tuple[str, str, int] | None:
    """Return the kind of a collective on global tensors, its axes as in the text, and the bytes that a device sends."""
    kind, mesh = collective_kind(type(op)), resolve_mesh(op.out_sharding.data.mesh, meshes)
    tensor = as_tensor(op.result.type)
    if kind is None or mesh is None or tensor is None:
        return None
    local = local_shape(tensor.get_shape(), op.out_sharding.data, mesh)
    assert local is not None  # padding is allowed
    size = prod(each or 0 for each in local) * element_bytes(tensor.element_type)
    sent = bytes_sent(kind, sharded_size(op.listed_axes, mesh), size)
    return kind.value, "" if op.axes_attribute is None else op.axes_attribute.text, round(sent)


MIN_ROWS_SAVED = 24  # the least number of rows that a fold must hide
LEAST_PERIOD, MOST_PERIODS = 2, 64  # of the periods that are tried


@dataclass(frozen=True, slots=True)
class Repeat:
    """A range that starts at `start` and consists of `count` equal groups of `period` items."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        """The index after the last item."""
        return self.start + self.period * self.count


def repeats_in(items: Sequence[object]) -> list[Repeat]:
    """Return disjoint repeats in order; of overlapping ones, the one that covers most, then the one with least period.

    >>> repeats_in("-" + "abcdefghijklmnopqrstuvwxyz" * 3)
    [Repeat(start=1, period=26, count=3)]
    """
    chosen: list[Repeat] = []
    for repeat in sorted(_candidates(_numbered(items)), key=lambda each: (each.start - each.end, each.period)):
        if all(repeat.end <= other.start or other.end <= repeat.start for other in chosen):
            chosen.append(repeat)
    return sorted(chosen, key=lambda each: each.start)


def _numbered(items: Sequence[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in items]


def _candidates(items: Sequence[int]) -> Iterator[Repeat]:
    """Yield, for each likely period, the longest ranges in which every item equals the item one period later."""
    periods = (max(LEAST_PERIOD, period) for period in likely_periods(items, 1, MIN_ROWS_SAVED, MOST_PERIODS))
    for period in dict.fromkeys(periods):
        for part in periodic_parts(items, period):
            count = (part.end - part.start) // period
            if period * (count - 1) >= MIN_ROWS_SAVED:
                yield Repeat(part.start, period, count)


MAX_POINTS = 1000  # of the memory curve, about its width in pixels
MAX_VALUES = 200  # of the values at the peak, the largest ones


class CollectiveRow(NamedTuple):
    """A collective of the local program, with totals over all its runs on one device, and its causes."""

    kind: str
    axes: list[list[str]]
    bytes_sent: int
    seconds: float
    runs: int
    is_latency_bound: bool
    line: int | None
    source: str
    cause: str
    details: list[str]


class MemoryPoint(NamedTuple):
    """The maximum of the live bytes from `seconds` to the next point."""

    seconds: float
    bytes: int
    op: str
    line: int | None


class AliveValue(NamedTuple):
    """A value that is live at the peak."""

    name: str
    type: str
    bytes: int
    line: int | None


def collective_rows(slots: Sequence[ScheduledOp], origin: Origin[Any], causes: CollectiveCauses) -> list[CollectiveRow]:
    """Return the rows of the collectives of a schedule, in program order.

    The source of a reshard of arguments of the main function is their names.
    """
    found: list[CollectiveRow] = []
    for slot in slots:
        if isinstance(slot.work, CollectiveRun) and not slot.visit.is_left:
            line, runs, sending = line_of(slot.visit.op), slot.visit.times, slot.work
            arguments = resharded_arguments(slot.visit.op)
            cells, sent = axis_cells(sending.axes), round(runs * sending.bytes_sent)
            place = line, sending.axes, [each.index for each in arguments]
            found.append(
                CollectiveRow(
                    sending.kind.value,
                    cells,
                    sent,
                    slot.seconds,
                    runs,
                    sending.is_latency_bound,
                    line,
                    origin.place_of_reshard(line, arguments),
                    causes.kind(sending.kind, *place).value,
                    list(causes.of(*place)),
                )
            )
    return found


def memory_json(
    local: ModuleOp, peak: PeakValues, slots: Sequence[ScheduledOp], written: ModuleOp, names: ValueNames
) -> Json:
    """Return the memory curve of a local program, its peak, and the live values there, the largest first."""
    counterparts = Counterparts(written, local)
    largest = sorted(peak.values.items(), key=lambda each: -each[1])
    return {
        "points": [_point(*each) for each in _thinned(slots, peak.curve)],
        "peak": _point(slots[peak.index], peak.curve[peak.index]),
        "seconds": slots[-1].end,
        "values": [_alive(value, size, counterparts, names) for value, size in largest[:MAX_VALUES]],
        "value_count": len(largest),
    }


def _point(slot: ScheduledOp, alive: int) -> MemoryPoint:
    return MemoryPoint(slot.start, alive, slot.visit.op.name, line_of(slot.visit.op))


def _thinned(slots: Sequence[ScheduledOp], curve: Sequence[int]) -> Iterable[tuple[ScheduledOp, int]]:
    """Return the highest point of each of at most `MAX_POINTS` intervals of time, with its op."""
    span = slots[-1].start / MAX_POINTS
    highest: dict[int, tuple[ScheduledOp, int]] = {}
    for slot, alive in zip(slots, curve, strict=True):
        interval = int(slot.start / span) if span else 0
        if interval not in highest or alive > highest[interval][1]:
            highest[interval] = slot, alive
    return highest.values()


def _alive(value: SSAValue, size: int, counterparts: Counterparts, names: ValueNames) -> AliveValue:
    written, op = counterparts.written(value), op_of(value)
    name = (op.name if op is not None else "") if written is None else names[written]
    return AliveValue(name, str(value.type), size, None if op is None else line_of(op))
