"""The options and the table of commands that compare partitioners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from sdy.cost.collectives import CollectiveKind
from sdy.report.tables.fitted_table import fitted_table, print_tables
from sdy.report.tables.program_tables import bytes_text

if TYPE_CHECKING:
    from sdy.program.comparison import PartitionerResult


def named_partitioners(names: str) -> list[str]:
    """Return the partitioners in the text of an option, where commas separate them."""
    return [name for name in names.split(",") if name]


def print_partitioners(console: Console, results: Sequence[PartitionerResult]) -> None:
    """Print a table with a column for each partitioner, and the problem of each that failed."""
    columns = ("", *(each.partitioner for each in results))
    rows = [
        *((kind.value, *(_collectives(each, kind) for each in results)) for kind in CollectiveKind),
        ("bytes sent", *(_number(each, "bytes_sent") for each in results)),
        ("FLOPs of products", *(_number(each, "flops") for each in results)),
        ("peak memory in bytes", *(_number(each, "peak_bytes") for each in results)),
        ("results", *(_outputs(each) for each in results)),
    ]
    print_tables(console, fitted_table("on one device", columns, rows, right=tuple(range(1, len(columns)))))
    for each in results:
        if each.problem:
            console.print(f"{each.partitioner}: {each.problem}", markup=False)


def _collectives(result: PartitionerResult, kind: CollectiveKind) -> str:
    """Return how often collectives of a kind run."""
    if result.statistics is None:
        return ""
    found = result.statistics.collectives.get(kind)
    return "0" if found is None else str(found.runs)


def _number(result: PartitionerResult, name: str) -> str:
    return "" if result.statistics is None else bytes_text(getattr(result.statistics, name))


def _outputs(result: PartitionerResult) -> str:
    if result.problem:
        return "failed" if result.statistics is None else "not compared"
    wrong = sum(not each.agrees for each in result.comparisons)
    return f"{wrong} of {len(result.comparisons)} differ" if wrong else "agree"
