"""A self-contained HTML page on a sweep: its points as a picture of time over memory, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from sdy.cost.quantities import rounded_bytes, seconds_text
from sdy.report.html.markup import HUES, MAX_ROWS, PageSection, fragment, markup_table, static_page, titled
from sdy.report.sweep_points import Origin, Sweep, SweepPoint
from sdy.report.tables.program_tables import bytes_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 90, 20, 20, 60
LEGEND = (
    "Filled: as searched. Open: as annotated. The line joins the points for which no other one of the machine needs "
    "less time and less memory."
)


def sweep_page(sweep: Sweep, title: str) -> str:
    """Return the text of the page."""
    legend = f"<p>{escape(LEGEND)}</p>"
    sections = [
        PageSection("Time over memory", f"<figure>{sweep_picture(sweep)}</figure>{legend}"),
        PageSection("Points", _table(sweep.ranked(), sweep.pareto), str(len(sweep.points))),
    ]
    return static_page(title, "sweep", sections)


def sweep_html(sweep: Sweep) -> str:
    """Return the picture and the first points of a sweep, as notebooks show them."""
    points, legend = sweep.ranked(), f'<div class="note">{escape(LEGEND)}</div>'
    table = titled("points", _table(points[:MAX_ROWS], sweep.pareto), len(points) - MAX_ROWS)
    return fragment(repr(sweep), [f"<figure class='chart'>{sweep_picture(sweep)}</figure>", legend, table])


def sweep_picture(sweep: Sweep) -> str:
    """Return an SVG picture of the points with a cost: time over memory, both on logarithmic scales."""
    points = [point for point in sweep.points if point.cost is not None]
    if not points:
        return "<p>No point could be priced.</p>"
    across = _Scale([_memory(point) for point in points], LEFT, WIDTH - RIGHT)
    up = _Scale([_seconds(point) for point in points], HEIGHT - BOTTOM, TOP)
    machines = list(dict.fromkeys(point.machine for point in points))
    parts = [*_grid(across, up), *_legend(machines)]
    for machine, color in zip(machines, HUES * len(machines), strict=False):
        front = sorted((_memory(each), _seconds(each)) for each in sweep.pareto if each.machine == machine)
        line = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in front)
        parts.append(f'<polyline class="front" stroke="{color}" points="{line}"/>')
        parts += [_circle(each, across, up, color) for each in points if each.machine == machine]
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="time over memory">{"".join(parts)}</svg>'


class _Scale:
    """A logarithmic scale from some values, between two positions."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.first, self.last = floor(log10(min(values))), ceil(log10(max(values)))
        self.last = max(self.last, self.first + 1)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = (log10(value) - self.first) / (self.last - self.first)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> Iterator[float]:
        """Yield the powers of ten, and their fivefold."""
        for exponent in range(self.first, self.last):
            yield from (10.0**exponent, 5 * 10.0**exponent)
        yield 10.0**self.last


def _memory(point: SweepPoint) -> float:
    return 1.0 if point.cost is None else max(1.0, point.cost.peak_bytes)


def _seconds(point: SweepPoint) -> float:
    return 1e-9 if point.cost is None else max(1e-9, point.cost.seconds)


def _grid(across: _Scale, up: _Scale) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for value in across.ticks():
        x = across(value)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{rounded_bytes(value)}</text>'
    for value in up.ticks():
        y = up(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(seconds_text(value))}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">peak memory of a device</text>'


def _legend(machines: Sequence[str]) -> Iterator[str]:
    for number, machine in enumerate(machines):
        y, color = TOP + 16 + 18 * number, HUES[number % len(HUES)]
        yield f'<circle cx="{WIDTH - 130}" cy="{y - 4}" r="5" fill="{color}"/>'
        yield f'<text x="{WIDTH - 118}" y="{y}">{escape(machine)}</text>'


def _circle(point: SweepPoint, across: Callable[[float], float], up: Callable[[float], float], color: str) -> str:
    fill = color if point.shardings is Origin.SEARCHED else "none"
    faint = "" if point.cost is not None and point.cost.fits else ' opacity=".35"'
    text = f"{point.machine}, {point.mesh}, {point.shardings.value}: {seconds_text(_seconds(point))}"
    place = f'cx="{across(_memory(point)):.1f}" cy="{up(_seconds(point)):.1f}"'
    return f'<circle {place} r="6" fill="{fill}" stroke="{color}"{faint}><title>{escape(text)}</title></circle>'


def _table(points: Sequence[SweepPoint], best: Sequence[SweepPoint]) -> str:
    columns = ("machine", "mesh", "shardings", "time", "time of collectives", "bytes sent", "peak bytes", "fits")
    tones = [_tone(point, is_best=point in best) for point in points]
    return markup_table(columns, [_cells(point) for point in points], right=(3, 4, 5, 6), tones=tones)


def _tone(point: SweepPoint, *, is_best: bool) -> str:
    if is_best:
        return "best"
    return "" if point.cost is not None and point.cost.fits else "faint"


def _cells(point: SweepPoint) -> list[str]:
    cost, place = point.cost, (point.machine, point.mesh, point.shardings.value)
    if cost is None:
        return [*map(escape, place), *[""] * 4, escape(point.problem)]
    numbers = (
        seconds_text(cost.seconds),
        seconds_text(cost.communication_seconds),
        bytes_text(cost.bytes_sent),
        bytes_text(cost.peak_bytes),
    )
    return [*map(escape, (*place, *numbers)), "yes" if cost.fits else "no"]
