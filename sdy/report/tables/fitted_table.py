"""Tables for the terminal that never split a word or a number.

A table that is too wide wraps cells between words. If its longest words do not fit side by side either, each row
becomes a list of the cells with the titles of their columns:

values
  - value     %arg0
    sharding  [{"x"}, {}]
    local     tensor<4x8xf32>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO

from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

from sdy.report.similar_entries import MOST_ENTRIES, rest_text

Cells = tuple[str, ...]
WIDTH = 80  # of a text that is not for a terminal
_MARGIN = 3  # of each column: a border and two blanks


@dataclass(frozen=True)
class FittedTable:
    """A table of plain text; the columns in `right` are right-aligned. `footer` may be empty."""

    title: str
    columns: Cells
    rows: Sequence[Cells]
    right: tuple[int, ...] = ()
    footer: Cells = ()

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text | Table]:
        """Yield the title and the table in the widest form that fits."""
        yield Text(self.title, style="bold", no_wrap=True, overflow="ignore")
        widths = self._widths(options.max_width)
        if widths is None:
            yield Text("\n".join(self._records()), no_wrap=True, overflow="ignore")
        else:
            yield self._table(widths)

    def _widths(self, available: int) -> list[int] | None:
        """Return the widths of the columns, at least their longest words; None if these do not fit."""
        cells = [self.columns, *self.rows, *((self.footer,) if self.footer else ())]
        texts = [[row[index] for row in cells] for index in range(len(self.columns))]
        least = [max((len(word) for text in column for word in text.split()), default=0) for column in texts]
        full = [max(map(len, column)) for column in texts]
        free = available - 1 - _MARGIN * len(texts) - sum(least)
        if free < 0:
            return None
        missing = [wide - narrow for wide, narrow in zip(full, least, strict=True)]
        for index in sorted(range(len(missing)), key=missing.__getitem__):  # as many columns as possible in full
            added = min(free, missing[index])
            least[index] += added
            free -= added
        return least

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(show_footer=bool(self.footer))
        footer = self.footer or ("",) * len(self.columns)
        for index, (column, width, total) in enumerate(zip(self.columns, widths, footer, strict=True)):
            table.add_column(Text(column), Text(total), justify="right" if index in self.right else "left", width=width)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _records(self) -> Iterator[str]:
        width = max(map(len, self.columns))
        for row in self.rows:
            cells = [f"{name:{width}}  {cell}".rstrip() for name, cell in zip(self.columns, row, strict=True)]
            yield from (f"  {'-' if index == 0 else ' '} {line}" for index, line in enumerate(cells))
        if self.footer:
            yield "  total"
            totals = zip(self.columns, self.footer, strict=True)
            yield from (f"    {name:{width}}  {total}" for name, total in totals if total)


def fitted_table(title: str, columns: Cells, rows: Iterable[Cells], right: tuple[int, ...] = ()) -> FittedTable:
    """Return a table without a footer."""
    return FittedTable(title, columns, tuple(rows), right)


def print_tables(console: Console, *tables: FittedTable) -> None:
    """Print tables; words that are longer than a line are not cropped."""
    console.print(*tables, sep="\n", crop=False)


def tables_text(tables: Iterable[FittedTable], lines: Iterable[str] = (), *, width: int = WIDTH) -> str:
    """Return tables as plain text, and after them lines, which are wrapped."""
    stream = StringIO()
    console = Console(file=stream, width=width, highlight=False)
    for table in tables:
        print_tables(console, table)
    for line in lines:
        console.print(line, markup=False)
    return stream.getvalue()


def print_start(console: Console, table: FittedTable, *, verbose: bool) -> None:
    """Print a table; unless `verbose`, only its first rows, and the number of the others."""
    rows = table.rows if verbose else table.rows[:MOST_ENTRIES]
    print_tables(console, replace(table, rows=rows))
    if len(rows) < len(table.rows):
        console.print(rest_text(len(table.rows) - len(rows)), markup=False)
