"""The differences of two programs as a self-contained HTML page; notebooks show them, and the facts of a program."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sdy.advice.collectives import Collective
from sdy.advice.diff import MAX_SHARDINGS, CollectiveChange, ProgramDiff, ShardingChange
from sdy.advice.partition_summary import PartitionSummary
from sdy.cost.quantities import seconds_text
from sdy.report.html.markup import (
    MAX_ROWS,
    AxisColours,
    PageSection,
    cards,
    colours_of,
    fragment,
    markup_table,
    static_page,
    table_block,
    titled,
)
from sdy.report.tables.fitted_table import fitted_table
from sdy.report.tables.program_tables import bytes_text


def diff_page(diff: ProgramDiff, title: str) -> str:
    """Return the differences as the text of a self-contained HTML page; `title` names the two programs."""
    colours = AxisColours(diff.axes)
    sections = [
        PageSection("Totals", _totals(diff), f"on one device of {diff.machine}"),
        _shardings("Annotations", diff.annotations, colours),
        _shardings("Shardings", diff.shardings, colours),
        PageSection("Collectives", _collectives(diff.collectives, colours), str(len(diff.collectives))),
    ]
    return static_page(title, "what changed", sections)


def diff_html(diff: ProgramDiff) -> str:
    """Return the totals, and the first changes of each kind, as notebooks show them."""
    colours = AxisColours(diff.axes)
    changes = (("annotations", diff.annotations), ("shardings", diff.shardings))
    tables = [
        titled(name, _changes(each[:MAX_SHARDINGS], colours), len(each) - MAX_SHARDINGS)
        for name, each in changes
        if each
    ]
    if diff.collectives:
        shown = _collectives(diff.collectives[:MAX_ROWS], colours)
        tables.append(titled("collectives", shown, len(diff.collectives) - MAX_ROWS))
    return fragment(repr(diff), [_totals(diff), *tables], [] if diff else ["The programs do not differ."])


def _totals(diff: ProgramDiff) -> str:
    old, new = diff.old, diff.new
    rows = [
        _total("bytes sent", _bytes(old.bytes_sent), _bytes(new.bytes_sent), old.bytes_sent, new.bytes_sent),
        _total("time, without overlap", seconds_text(old.seconds), seconds_text(new.seconds), old.seconds, new.seconds),
        _total("peak memory", _bytes(old.peak_bytes), _bytes(new.peak_bytes), old.peak_bytes, new.peak_bytes),
        (f"+{diff.added_ops} -{diff.removed_ops}", "ops added and removed", ""),
    ]
    return cards(rows)


def _bytes(count: int) -> str:
    return f"{bytes_text(count)} bytes"


def _total(name: str, old_text: str, new_text: str, old: float, new: float) -> tuple[str, str, str]:
    if old == new:
        return new_text, f"{name}, as before", ""
    share = f" ({(new - old) / old:+.1%})" if old else ""
    return new_text, f"{name}, {old_text} before{share}", "bad" if new > old else "good"


def _shardings(title: str, changes: Sequence[ShardingChange], colours: AxisColours) -> PageSection:
    return PageSection(title, _changes(changes, colours) if changes else _none(), str(len(changes)))


def _changes(changes: Sequence[ShardingChange], colours: AxisColours) -> str:
    rows = (
        (
            f'<span class="mono">{escape(_names(each))}</span>',
            colours.marked(each.old or "none"),
            colours.marked(each.new or "none"),
        )
        for each in changes
    )
    return markup_table(("value", "before", "now"), rows)


def _names(change: ShardingChange) -> str:
    return change.new_name if change.old_name == change.new_name else f"{change.old_name}, now {change.new_name}"


def _collectives(changes: Sequence[CollectiveChange], colours: AxisColours) -> str:
    columns = ("", "kind", "along", "bytes before", "now", "time before", "now", "source", "cause")
    rows = (_collective_row(each, colours) for each in changes)
    return markup_table(columns, rows, right=(3, 4, 5, 6)) if changes else _none()


def _collective_row(change: CollectiveChange, colours: AxisColours) -> Sequence[str]:
    old, new = change.old, change.new
    shown = old if new is None else new
    assert shown is not None, "a change has an old or a new collective"
    return (
        _kind_of_change(change),
        escape(shown.kind.value),
        colours.marked(", ".join(map(str, shown.axes))),
        *("" if each is None else bytes_text(round(each.bytes_sent)) for each in (old, new)),
        *("" if each is None else escape(seconds_text(each.seconds)) for each in (old, new)),
        _source(old, new),
        "".join(f"<div>{colours.marked(line)}</div>" for line in change.causes),
    )


def _kind_of_change(change: CollectiveChange) -> str:
    if change.old is None:
        return '<b class="bad">came</b>'
    if change.new is None:
        return '<b class="good">went</b>'
    return "moved" if round(change.old.bytes_sent) == round(change.new.bytes_sent) else "changed"


def _source(old: Collective | None, new: Collective | None) -> str:
    sources = dict.fromkeys(each.source for each in (old, new) if each is not None and each.source)
    return escape(", now ".join(sources))


def _none() -> str:
    return '<p class="none">None.</p>'


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
