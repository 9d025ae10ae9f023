"""Tables for the terminal: meshes, values, collectives, statistics and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import TextWrapper

from rich.console import Console

from sdy.cost.quantities import rounded_bytes
from sdy.cost.statistics import Statistics
from sdy.cost.traffic import CollectiveUse
from sdy.diagnostics.wording import counted, first_names
from sdy.grammar.write import write_axis_list
from sdy.model.mesh import Mesh
from sdy.report.boundary import ValueRow, folded_rows
from sdy.report.tables.fitted_table import Cells, FittedTable, fitted_table, print_tables, tables_text

MOST_VALUES, MOST_GROUPS = 12, 7  # longer lists of arguments and results are folded
MOST_CAUSE_LINES, MOST_PLACE_LINES = 3, 1  # of a collective

NO_MESH = "no mesh: the program runs on one device"


def mesh_table(meshes: Mapping[str, Mesh]) -> FittedTable:
    """Return a table of the name, axes and devices of each mesh."""
    rows = ((f"@{name}", mesh.axes_text(), _devices(mesh)) for name, mesh in meshes.items())
    return fitted_table("mesh", ("mesh", "axes", "devices"), rows)


def _devices(mesh: Mesh) -> str:
    order = f" in the order {', '.join(map(str, mesh.device_ids))}" if mesh.device_ids else ""
    return f"{mesh.device_count}{order}"


def values_table(title: str, values: Iterable[ValueRow]) -> FittedTable:
    """Return a table of values with their sharding, global type and local type."""
    rows = (
        (row.name, row.sharding or "replicated", _type_text(row.global_type), _type_text(row.local_type))
        for row in values
    )
    return fitted_table(title, ("value", "sharding", "global", "local"), rows)


def print_boundary(console: Console, rows: Sequence[ValueRow], *, verbose: bool) -> None:
    """Print the arguments and results; if they are many and not `verbose`, patterns of those that are sharded alike."""
    title = "arguments and results"
    if verbose or len(rows) <= MOST_VALUES:
        print_tables(console, values_table(title, rows))
        return
    groups = folded_rows(rows)
    cells = ((pattern, sharding, f"{count:,}") for pattern, sharding, count in groups[:MOST_GROUPS])
    print_tables(console, fitted_table(title, ("values", "sharding", "count"), cells, right=(2,)))
    if len(groups) > MOST_GROUPS:
        console.print(f"... and {counted(len(groups) - MOST_GROUPS, 'other pattern')}; -v lists all values")


def dearest_collectives_lines(
    uses: Sequence[tuple[CollectiveUse, int, str, str]], sent: float, width: int
) -> Iterator[str]:
    """Yield lines on collectives: their bytes, their share of all, how often they run, their causes and places."""
    for use, count, cause, place in uses:
        bytes_sent = use.bytes_per_device * count
        share = f"{100 * bytes_sent / sent:3.0f} %" if sent else ""
        axes = f" along {', '.join(map(str, use.axes))}" if use.axes else ""
        indent = " " * 19
        fitted = TextWrapper(
            width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, placeholder=" ..."
        )
        fitted.max_lines = MOST_CAUSE_LINES
        yield from fitted.wrap(
            f"  {rounded_bytes(bytes_sent):>8}  {share:>5}  {count:,} {use.kind.value}{axes} ({cause})"
        )
        fitted.max_lines, fitted.initial_indent = MOST_PLACE_LINES, indent
        yield from fitted.wrap(place)


def _type_text(text: str) -> str:
    """Return the text of a type; of a tensor, what is between the angle brackets: `4x8xf32`."""
    is_tensor = text.startswith("tensor<") and text.endswith(">")
    return text.removeprefix("tensor<").removesuffix(">") if is_tensor else text


def collectives_table(uses: Counter[CollectiveUse]) -> FittedTable:
    """Return a table of collectives with the bytes that each device sends; equal collectives share a row."""
    return placed_collectives_table(Counter({("", use): count for use, count in uses.items()}))


def placed_collectives_table(uses: Counter[tuple[str, CollectiveUse]]) -> FittedTable:
    """Return a table of collectives with their source lines; equal collectives of one line share a row.

    The column of source lines is omitted if none is known.
    """
    has_sources = any(source for source, _ in uses)
    rows = [
        (
            str(count),
            use.kind.value,
            write_axis_list(use.axes),
            first_names(["x".join(map(str, shape)) or "scalar" for shape in use.local_shapes]),
            bytes_text(use.bytes_per_device * count),
            *((source,) if has_sources else ()),
        )
        for (source, use), count in uses.items()
    ]
    columns = ("runs", "kind", "axes", "local result", "bytes sent per device", *(("source",) if has_sources else ()))
    total = bytes_text(sum(use.bytes_per_device * count for (_, use), count in uses.items()))
    footer = (str(uses.total()), "", "", "", total, *(("",) if has_sources else ()))
    return FittedTable("collectives", columns, rows, (0, 4), footer)


def statistics_tables(statistics: Statistics) -> tuple[FittedTable, FittedTable]:
    """Return tables of the statistics of one device: by kind of collective, and in total."""
    kinds = (
        (kind.value, str(each.places), str(each.runs), bytes_text(each.bytes_sent))
        for kind, each in statistics.collectives.items()
    )
    totals = (
        ("bytes sent", bytes_text(statistics.bytes_sent)),
        ("FLOPs of dots and convolutions", f"{statistics.flops:,}"),
        ("peak live bytes", bytes_text(statistics.peak_bytes)),
    )
    return (
        fitted_table("collectives", ("kind", "ops", "runs", "bytes sent"), kinds, right=(1, 2, 3)),
        fitted_table("one device", ("", "total"), totals, right=(1,)),
    )


def statistics_text(statistics: Statistics) -> str:
    """Return the tables of the statistics as text."""
    return tables_text(statistics_tables(statistics))


def errors_table(rows: Iterable[Cells]) -> FittedTable:
    """Return a table of outputs with their largest errors."""
    return fitted_table("outputs", ("output", "absolute error", "relative error", ""), rows, right=(1, 2))


def bytes_text(count: float) -> str:
    """Return a number of bytes, rounded to an integer."""
    return f"{count:,.0f}"
