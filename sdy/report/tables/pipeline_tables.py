"""The cost of a program of several meshes in the terminal: tables, and a chart of what each mesh does when."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from sdy.compile.pipeline_cost import PipelineCost
from sdy.cost.quantities import seconds_text
from sdy.report.tables.fitted_table import FittedTable, fitted_table, tables_text
from sdy.report.tables.program_tables import bytes_text

KINDS = {
    "F": "forward",
    "B": "backward",
    "A": "gradients that are transferred",
    "W": "other gradients",
    "T": "transfer",
    "-": "without a name",
}
_STYLES = {"F": "blue", "B": "red", "A": "magenta", "W": "green", "T": "cyan", "-": "yellow"}
LEAST_COLUMNS = 20  # of a chart


def pipeline_tables(cost: PipelineCost) -> tuple[FittedTable, ...]:
    """Return the tables of the time, of the meshes, and of the transfers between them."""
    times = (
        ("time", seconds_text(cost.seconds)),
        ("longest bubble of a mesh", seconds_text(cost.bubble)),
        ("share of the time in which the busiest mesh waits", f"{cost.bubble_share:.1%}"),
    )
    meshes = (
        (
            mesh.name,
            str(mesh.fragments),
            seconds_text(mesh.busy),
            seconds_text(mesh.bubble),
            seconds_text(mesh.waits_for_transfers),
            bytes_text(mesh.peak_bytes),
        )
        for mesh in cost.meshes
    )
    columns = ("mesh", "fragments", "busy", "bubble", "of that, transfers", "peak bytes of a device")
    tables = [
        fitted_table(f"time on {cost.machine}", ("", "time"), times, (1,)),
        fitted_table("meshes", columns, meshes, right=(1, 2, 3, 4, 5)),
    ]
    if cost.bytes_between:
        rows = ((source, target, bytes_text(count)) for (source, target), count in cost.bytes_between.items())
        tables.append(fitted_table("transfers", ("from", "to", "bytes"), rows, right=(2,)))
    return tuple(tables)


def pipeline_report(cost: PipelineCost, width: int) -> str:
    """Return the tables and the chart in plain text of at most `width` columns."""
    return f"{tables_text(pipeline_tables(cost), width=width)}\n{chart(cost, width).plain}"


def schedules_table(costs: Mapping[str, PipelineCost | str]) -> FittedTable:
    """Return a table of schedules of one program, the fastest first; a text says why a schedule does not fit."""
    found = [(name, cost) for name, cost in costs.items() if not isinstance(cost, str)]
    rows = [
        (name, seconds_text(cost.seconds), f"{cost.bubble_share:.1%}", bytes_text(cost.peak_bytes), "")
        for name, cost in sorted(found, key=lambda each: each[1].seconds)
    ]
    rows += [(name, "", "", "", cost) for name, cost in costs.items() if isinstance(cost, str)]
    columns = ("schedule", "time", "bubble", "peak bytes of a device", "")
    return fitted_table("schedules", columns, rows, right=(1, 2, 3))


def chart(cost: PipelineCost, width: int, *, transfers: bool = False) -> Text:
    """Return a line for each mesh, and with `transfers` for each link, on which time runs from left to right.

    A run of a fragment begins with its kind and microbatch, where there is space for them.
    """
    places = [mesh.name for mesh in cost.meshes]
    if transfers:
        places += dict.fromkeys(slot.place for slot in cost.slots if slot.kind == "T")
    margin = max(map(len, places), default=0)
    columns = max(LEAST_COLUMNS, width - margin - 2)
    lines = [Text(f"{place:{margin}}  ") + _line(cost, place, columns) for place in places]
    kinds = dict.fromkeys(slot.kind for slot in cost.slots if slot.place in places)
    legend = Text(", ").join(Text(f"{kind} {KINDS[kind]}", style=_STYLES[kind]) for kind in kinds)
    return Text("\n").join([*lines, legend])


def _line(cost: PipelineCost, place: str, columns: int) -> Text:
    scale = columns / cost.seconds if cost.seconds else 0.0
    line, column = Text(), 0
    for slot in sorted((slot for slot in cost.slots if slot.place == place), key=lambda slot: slot.start):
        start, end = round(slot.start * scale), round(slot.end * scale)
        if end > column:
            line.append(" " * (start - column))
            start = max(start, column)
            line.append(slot.label.ljust(end - start, "·")[: end - start], style=_STYLES[slot.kind])
            column = end
    return line
