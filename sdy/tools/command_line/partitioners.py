"""The table of commands that compare partitioners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from sdy.evidence.partitioners.table import results_table
from sdy.report.tables.fitted_table import print_tables

if TYPE_CHECKING:
    from sdy.evidence.partitioners.table import PartitionerResult


def print_partitioners(console: Console, results: Sequence[PartitionerResult]) -> None:
    """Print a table with a column for each partitioner, and the problem of each that failed."""
    print_tables(console, results_table("on one device", {each.partitioner: each for each in results}))
    for each in results:
        if each.problem:
            console.print(f"{each.partitioner}: {each.problem}", markup=False)
