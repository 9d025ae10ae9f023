"""What a verified program looks like in the terminal: its mesh, its values, its collectives, its errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rich.markup import escape
from rich.table import Table

from sdy.cost.communication import CollectiveUse
from sdy.cost.statistics import Statistics
from sdy.model.mesh import Mesh
from sdy.report.value_rows import ValueRow

Cells = tuple[str, ...]


def mesh_table(meshes: Mapping[str, Mesh]) -> Table:
    """Name, axes and devices of each mesh."""
    rows = (
        (f"@{name}", " ".join(f"{axis.name}={axis.size}" for axis in mesh.axes), _devices(mesh))
        for name, mesh in meshes.items()
    )
    return simple_table("mesh", ("mesh", "axes", "devices"), rows)


def _devices(mesh: Mesh) -> str:
    order = f" in the order {', '.join(map(str, mesh.device_ids))}" if mesh.device_ids else ""
    return f"{mesh.device_count}{order}"


def values_table(title: str, values: Iterable[ValueRow]) -> Table:
    """Values with their sharding, whole and on one device."""
    rows = ((row.name, row.sharding or "replicated", row.global_type, row.local_type) for row in values)
    return simple_table(title, ("value", "sharding", "global", "local"), rows)


def collectives_table(uses: Counter[CollectiveUse]) -> Table:
    """Collectives with what each device sends; equal ones in one row."""
    return placed_collectives_table(Counter({("", use): count for use, count in uses.items()}))


def placed_collectives_table(uses: Counter[tuple[str, CollectiveUse]]) -> Table:
    """As `collectives_table`, each with its place; equal ones at one place in one row.

    There is no column of places where none is known.
    """
    has_places = any(place for place, _ in uses)
    rows = [
        (
            str(count),
            use.kind.value,
            use.axes,
            _shape(use.local_shape),
            bytes_text(use.bytes_per_device * count),
            *((place,) if has_places else ()),
        )
        for (place, use), count in uses.items()
    ]
    columns = ("count", "kind", "axes", "local result", "bytes sent per device", *(("for",) if has_places else ()))
    table = simple_table("collectives", columns, rows, right=(0, 4))
    table.show_footer = True
    table.columns[0].footer = str(uses.total())
    table.columns[4].footer = bytes_text(sum(use.bytes_per_device * count for (_, use), count in uses.items()))
    return table


def statistics_tables(statistics: Statistics) -> tuple[Table, Table]:
    """What a program costs one device: by kind of collective, and in all."""
    kinds = (
        (kind.value, str(each.places), str(each.runs), bytes_text(each.bytes_sent))
        for kind, each in statistics.collectives.items()
    )
    totals = (
        ("bytes sent", bytes_text(statistics.bytes_sent)),
        ("FLOPs of dots and convolutions", f"{statistics.flops:,}"),
        ("peak bytes alive", bytes_text(statistics.peak_bytes)),
    )
    return (
        simple_table("collectives", ("kind", "in the program", "runs", "bytes sent"), kinds, right=(1, 2, 3)),
        simple_table("one device", ("", "in all"), totals, right=(1,)),
    )


def errors_table(rows: Iterable[Cells]) -> Table:
    """Outputs with their largest errors."""
    return simple_table("outputs", ("output", "absolute error", "relative error", ""), rows, right=(1, 2))


def rounds_table(rows: Iterable[Cells]) -> Table:
    """Rounds of adversarial inputs with the outputs that differ."""
    return simple_table("adversarial inputs", ("inputs", "outputs that differ", ""), rows, right=(1,))


def bytes_text(count: float) -> str:
    """A number of bytes, whole ones."""
    return f"{count:,.0f}"


def _shape(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes)) or "scalar"


def simple_table(title: str, columns: Cells, rows: Iterable[Cells], right: tuple[int, ...] = ()) -> Table:
    """Rows of plain text under a title; `right` says which columns end at the right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
