"""A self-contained HTML page on a sweep: its points as a picture of time over memory, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from sdy.report.sweep.points import Origin, Sweep, SweepPoint
from sdy.report.tables.cost_tables import seconds_text
from sdy.report.tables.program_tables import bytes_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 90, 20, 20, 60
COLORS = ("#2f6fed", "#d9822b", "#1d8a4e", "#9c4bd1", "#c62f3b", "#0f8b8d")
STYLE = """
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 14px/1.5 system-ui, sans-serif; color: #1b1f27; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .9rem; border-bottom: 1px solid #e2e6ec; text-align: left; }
tr.best { font-weight: 600; } tr.no { color: #8e97a6; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: #5d6675; }
svg .grid { stroke: #e2e6ec; } svg .front { fill: none; stroke-dasharray: 4 4; }
"""


def sweep_page(sweep: Sweep, title: str) -> str:
    """Return the text of the page."""
    heading = escape(title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{heading}</title><style>{STYLE}</style>'
        f"<h1>{heading}</h1>{sweep_picture(sweep)}<p>Filled: as searched. Open: as annotated. The line joins the "
        f"points for which no other one of the machine needs less time and less memory.</p>{_table(sweep)}</html>\n"
    )


def sweep_picture(sweep: Sweep) -> str:
    """Return an SVG picture of the points with a cost: time over memory, both on logarithmic scales."""
    points = [point for point in sweep.points if point.cost is not None]
    if not points:
        return "<p>No point could be priced.</p>"
    across = _Scale([_memory(point) for point in points], LEFT, WIDTH - RIGHT)
    up = _Scale([_seconds(point) for point in points], HEIGHT - BOTTOM, TOP)
    machines = list(dict.fromkeys(point.machine for point in points))
    parts = [*_grid(across, up), *_legend(machines)]
    for machine, color in zip(machines, COLORS * len(machines), strict=False):
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
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{_rounded_bytes(value)}</text>'
    for value in up.ticks():
        y = up(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(seconds_text(value))}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">peak memory of a device</text>'


def _rounded_bytes(value: float) -> str:
    units: tuple[tuple[float, str], ...] = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    size, unit = next(((size, unit) for size, unit in units if value >= size), (1.0, "B"))
    return f"{value / size:g} {unit}"


def _legend(machines: Sequence[str]) -> Iterator[str]:
    for number, machine in enumerate(machines):
        y, color = TOP + 16 + 18 * number, COLORS[number % len(COLORS)]
        yield f'<circle cx="{WIDTH - 130}" cy="{y - 4}" r="5" fill="{color}"/>'
        yield f'<text x="{WIDTH - 118}" y="{y}">{escape(machine)}</text>'


def _circle(point: SweepPoint, across: Callable[[float], float], up: Callable[[float], float], color: str) -> str:
    fill = color if point.shardings is Origin.SEARCHED else "none"
    faint = "" if point.cost is not None and point.cost.fits else ' opacity=".35"'
    text = f"{point.machine}, {point.mesh}, {point.shardings.value}: {seconds_text(_seconds(point))}"
    place = f'cx="{across(_memory(point)):.1f}" cy="{up(_seconds(point)):.1f}"'
    return f'<circle {place} r="6" fill="{fill}" stroke="{color}"{faint}><title>{escape(text)}</title></circle>'


def _table(sweep: Sweep) -> str:
    best = sweep.pareto
    columns = ("machine", "mesh", "shardings", "time", "time of collectives", "bytes sent", "peak bytes", "fits")
    rows = "".join(_row(point, is_best=point in best) for point in sweep.ranked())
    return f"<table><tr>{''.join(f'<th>{each}</th>' for each in columns)}</tr>{rows}</table>"


def _row(point: SweepPoint, *, is_best: bool) -> str:
    cost = point.cost
    cells = [point.machine, point.mesh, point.shardings.value]
    if cost is None:
        cells.append(point.problem)
    else:
        cells += [seconds_text(cost.seconds), seconds_text(cost.communication_seconds)]
        cells += [bytes_text(cost.bytes_sent), bytes_text(cost.peak_bytes), "yes" if cost.fits else "no"]
    kind = "best" if is_best else "no" if cost is None or not cost.fits else ""
    return f'<tr class="{kind}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
