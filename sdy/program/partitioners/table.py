"""The table of what partitioners made of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sdy.cost.collectives import CollectiveKind
from sdy.report.tables.fitted_table import FittedTable, fitted_table
from sdy.report.tables.program_tables import bytes_text

if TYPE_CHECKING:
    from sdy.program.comparison import PartitionerResult


def results_table(title: str, results: Mapping[str, PartitionerResult]) -> FittedTable:
    """Return a table with a column per result: collectives, bytes, FLOPs, memory, and whether the outputs agree."""
    found = list(results.values())
    rows = [
        *((kind.value, *(_collectives(each, kind) for each in found)) for kind in CollectiveKind),
        ("bytes sent", *(_number(each, "bytes_sent") for each in found)),
        ("FLOPs of products", *(_number(each, "flops") for each in found)),
        ("peak memory in bytes", *(_number(each, "peak_bytes") for each in found)),
        ("results", *(_outputs(each) for each in found)),
    ]
    return fitted_table(title, ("", *results), rows, right=tuple(range(1, len(found) + 1)))


def _collectives(result: PartitionerResult, kind: CollectiveKind) -> str:
    """Return how often collectives of a kind run."""
    if result.statistics is None:
        return ""
    found = result.statistics.collectives.get(kind)
    return "0" if found is None else str(found.runs)


def _number(result: PartitionerResult, name: str) -> str:
    return "" if result.statistics is None else bytes_text(getattr(result.statistics, name))


def _outputs(result: PartitionerResult) -> str:
    if not result.comparisons:
        return "failed" if result.statistics is None else "not compared"
    wrong = sum(not each.agrees for each in result.comparisons)
    return f"{wrong} of {len(result.comparisons)} differ" if wrong else "agree"
