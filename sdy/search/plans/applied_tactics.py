"""The result of tactics: the annotated program, and what it costs after each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Generic, TypeVar

from rich.console import Console

from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.wording import counted
from sdy.model.mesh import Mesh
from sdy.report.html.fragment import tables_html
from sdy.report.program_report import WIDTH
from sdy.report.tables.fitted_table import FittedTable, fitted_table, print_tables
from sdy.report.tables.program_tables import bytes_text, mesh_table
from sdy.search.search_request import Goal

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """A step: its tactics, the number of arguments and results that they annotated, and the cost after it."""

    tactics: str
    values: int
    cost: ProgramCost

    def __repr__(self) -> str:
        return (
            f"AppliedStep({self.tactics}: {counted(self.values, 'value')}, {seconds_text(self.cost.seconds_in_turn)})"
        )

    @property
    def collectives(self) -> dict[str, int]:
        """The number of runs of each kind of collective."""
        found: dict[str, int] = {}
        for each in self.cost.collectives:
            found[each.kind.value] = found.get(each.kind.value, 0) + each.runs
        return found


@dataclass(frozen=True, slots=True)
class AppliedTactics(Generic[P_co]):
    """A program with the annotations of tactics. `steps` begins with the program as it was."""

    program: P_co
    mesh: Mesh
    steps: Sequence[AppliedStep]

    def report(self, width: int = WIDTH) -> str:
        """Return a table in plain text: collectives, bytes, time and peak memory after each step."""
        console = Console(file=StringIO(), width=width, highlight=False)
        print_tables(console, mesh_table({"mesh": self.mesh}))
        for number, step in enumerate(self.steps):
            console.print(f"{number}. {step.tactics}", markup=False)
        print_tables(console, self._table())
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    def __repr__(self) -> str:
        """Return one line: the number of steps, and the predicted time before and after them."""
        times = (seconds_text(each.cost.seconds_in_turn) for each in (self.steps[0], self.steps[-1]))
        return f"AppliedTactics({counted(len(self.steps) - 1, 'step')}; predicted time {' -> '.join(times)})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show, and the tactics of each step."""
        notes = (f"{number}. {step.tactics}" for number, step in enumerate(self.steps))
        return tables_html(repr(self), [self._table()], notes, {"mesh": self.mesh})

    def to_json(self) -> dict[str, object]:
        """Return the steps as plain data."""
        steps = [{"tactics": each.tactics, "values": each.values, "cost": each.cost.to_json()} for each in self.steps]
        return {"mesh": {axis.name: axis.size for axis in self.mesh.axes}, "steps": steps}

    def _table(self) -> FittedTable:
        machine = self.steps[0].cost.hardware.name
        columns = ("step", "values", "collectives", "bytes sent", "time", "peak bytes")
        return fitted_table(f"one device of {machine} after each step", columns, self._rows(), right=(0, 1, 3, 4, 5))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for number, step in enumerate(self.steps):
            collectives = ", ".join(f"{count} {kind}" for kind, count in step.collectives.items())
            sent, peak = (bytes_text(goal.of(step.cost)) for goal in (Goal.BYTES, Goal.MEMORY))
            values = str(step.values) if step.values else ""
            yield str(number), values, collectives or "none", sent, seconds_text(step.cost.seconds_in_turn), peak
