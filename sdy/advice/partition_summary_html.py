"""The facts about a partitioned program as notebooks show them."""

from __future__ import annotations

from sdy.advice.collectives import Collective
from sdy.advice.partition_summary import PartitionSummary
from sdy.cost.quantities import seconds_text
from sdy.report.html.markup import cards, colours_of, fragment, table_block
from sdy.report.tables.fitted_table import fitted_table
from sdy.report.tables.program_tables import bytes_text


def partition_summary_html(facts: PartitionSummary) -> str:
    """Return the totals of one device, and its collectives."""
    numbers = [
        (seconds_text(facts.seconds), "without overlap", ""),
        (bytes_text(facts.bytes_sent), "bytes sent by a device", ""),
        (bytes_text(facts.peak_bytes), "peak bytes", ""),
    ]
    columns = ("kind", "axes", "runs", "bytes sent", "time", "source")
    table = fitted_table("collectives", columns, map(_cells, facts.collectives), right=(2, 3, 4))
    return fragment(repr(facts), [cards(numbers), table_block(table, colours_of([facts.compiled.mesh]))])


def _cells(collective: Collective) -> tuple[str, ...]:
    return (
        collective.kind.value,
        ", ".join(map(str, collective.axes)),
        str(collective.runs),
        bytes_text(collective.bytes_sent),
        seconds_text(collective.seconds),
        collective.source,
    )
