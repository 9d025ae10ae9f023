"""The collectives that a local program runs, each with its cost and its origin in the user's program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.origin import Origin
from sdy.cost.collectives import CollectiveKind
from sdy.cost.schedule import CollectiveRun, ScheduledOp
from sdy.diagnostics.diagnostic import Span
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import op_and_nested_ops
from sdy.dialects.stablehlo.control import WhileOp
from sdy.documents.document import document
from sdy.model.axis import AxisList
from sdy.report.explanation.causes import resharded_arguments
from sdy.report.explanation.value_names import line_of


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that each device runs `runs` times in one run of the program.

    `line` is the line of the op of the user's program that it belongs to, `source` the same line as the user knows it
    (`train.py:20`, or `line 7`), `scope` where it was traced (`blocks.0/mlp`), and `function` the function of the
    user's program around that op. A collective that reshards arguments of a function has their numbers in `arguments`;
    those of the main function have `argument_names`. `place` is what a person reads: these names, or the source with
    its scope. `bytes_sent` and `seconds` are those of one device, summed over all runs.
    """

    kind: CollectiveKind
    axes: AxisList
    runs: int
    bytes_sent: float
    seconds: float
    is_in_loop: bool
    function: str
    line: int | None
    source: str
    scope: str = ""
    place: str = ""
    arguments: tuple[int, ...] = ()
    argument_names: tuple[str, ...] = ()
    span: Span | None = None

    @property
    def axis_names(self) -> frozenset[str]:
        """The names of the mesh axes among which the devices communicate."""
        return frozenset(axis.name for axis in self.axes)

    def to_json(self) -> dict[str, object]:
        """Return the collective as plain data, with bytes rounded to integers."""
        return document("Collective", self, in_loop=self.is_in_loop, arguments=self.argument_names)

    @property
    def named(self) -> str:
        """The kind, the axes and the place: `all-gather along "data" at train.py:6`, or `... of params['w']`."""
        axes = f" along {', '.join(map(str, self.axes))}" if self.axes else ""
        place = f" {'of' if self.argument_names else 'at'} {self.place}" if self.place else ""
        return f"{self.kind.value}{axes}{place}"

    def __repr__(self) -> str:
        return f"Collective({self})"

    def __str__(self) -> str:
        """Return one line: `all-gather along "data" at train.py:6: 393,216 bytes`."""
        runs = f" in {self.runs:,} runs" if self.runs > 1 else ""
        return f"{self.named}: {round(self.bytes_sent):,} bytes{runs}"


def collectives_of_schedule(
    schedule: Sequence[ScheduledOp], written: ModuleOp, origin: Origin[Any]
) -> list[Collective]:
    """Return the collectives of the schedule of a local program, in program order.

    `written` is the user's program, and `origin` knows where its lines come from.
    """
    functions = _functions_by_line(written)
    main = main_function(written).sym_name.data
    found: list[Collective] = []
    for slot, is_in_loop in _with_loops(schedule):
        work, op = slot.work, slot.visit.op
        if isinstance(work, CollectiveRun):
            line, runs, arguments = line_of(op), slot.visit.times, resharded_arguments(op)
            found.append(
                Collective(
                    work.kind,
                    work.axes,
                    runs,
                    runs * work.bytes_sent,
                    slot.seconds,
                    is_in_loop,
                    main if line is None else functions.get(line, main),
                    line,
                    origin.source(line),
                    origin.scopes.get(line or 0, ""),
                    origin.place_of_reshard(line, arguments),
                    tuple(each.index for each in arguments),
                    origin.names_of(arguments),
                    span_of(op),
                )
            )
    return found


def _with_loops(schedule: Sequence[ScheduledOp]) -> Iterator[tuple[ScheduledOp, bool]]:
    """Yield each op that is not a second visit, and whether it is in the body of a loop."""
    depth = 0
    for slot in schedule:
        if isinstance(slot.visit.op, WhileOp):
            depth += -1 if slot.visit.is_left else 1
        if not slot.visit.is_left:
            yield slot, depth > 0


def _functions_by_line(written: ModuleOp) -> dict[int, str]:
    """Return the function that the ops of each line of a program belong to."""
    return {
        line: func.sym_name.data
        for func in functions_of(written).values()
        for op in op_and_nested_ops(func)
        if op is not func and (line := line_of(op)) is not None
    }


class CausesOnce:
    """The causes that a text has so far.

    A cause is a line, and the lines below it that begin with a space, for example the ops on a path of propagation.
    """

    def __init__(self) -> None:
        self._given: set[tuple[str, ...]] = set()
        self._first: dict[tuple[str, ...], Collective] = {}

    def lines(self, collective: Collective, lines: Sequence[str]) -> Iterator[str]:
        """Yield the lines of the causes of a collective, without those below a cause that the text has already.

        If another collective in the text has the same causes, yield its name instead.
        """
        same = self._first.setdefault(tuple(lines), collective)
        if same is not collective and lines:
            yield f"as above for {same.named}"
            return
        for cause in _causes(lines):
            if cause in self._given and len(cause) > 1:
                yield f"{cause[0].removesuffix(':')}, as above"
            else:
                yield from cause
            self._given.add(cause)


def _causes(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    starts = [index for index, line in enumerate(lines) if index == 0 or not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield tuple(lines[start:end])
