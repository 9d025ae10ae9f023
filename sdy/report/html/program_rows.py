"""The rows of the program section of the page: the ops of a partitioned program on global shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.cost.communication import collectives_with_ops
from sdy.dialects.facts.traits import has_region_on_elements
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.shardings import argument_sharding
from sdy.partitioner.repetition import likely_periods, periodic_parts
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.value_names import line_of
from sdy.report.html.page_tables import Json, StepTable, TypeTable, axis_cell

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
        self._collectives = dict(collectives_with_ops(module))
        self._types = TypeTable(meshes_of(module))
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
        use = self._collectives.get(op)
        sent = None if use is None else (use.kind.value, use.axes, round(use.bytes_per_device))
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
