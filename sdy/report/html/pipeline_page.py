"""A self-contained HTML page on a program of several meshes: what each mesh and link does when, and what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from sdy.compile.pipeline_cost import MeshCost, PipelineCost, PipelineSlot
from sdy.cost.quantities import rounded_bytes, seconds_text
from sdy.report.html.markup import HUES, PageSection, cards, markup_table, static_page
from sdy.report.tables.fitted_table import FittedTable
from sdy.report.tables.pipeline_tables import KINDS, pipeline_tables

WIDTH, LEFT, ROW, BAR, CURVE = 1200, 110, 26, 20, 70
_COLOURS = dict(zip(KINDS, HUES, strict=False))
LEAST_LABEL = 22  # of the width of a bar, in which its label fits


def pipeline_page(cost: PipelineCost, title: str) -> str:
    """Return the text of the page."""
    numbers = cards(
        [
            (seconds_text(cost.seconds), f"on {cost.machine}", ""),
            (f"{cost.bubble_share:.1%}", "of the time the busiest mesh waits", ""),
            (seconds_text(cost.bubble), "longest bubble of a mesh", ""),
            (rounded_bytes(cost.peak_bytes), "peak memory of a device", ""),
        ]
    )
    links = list(dict.fromkeys(slot.place for slot in cost.slots if slot.kind == "T"))
    _, meshes, *transfers = pipeline_tables(cost)
    sections = [
        PageSection("Time", numbers),
        PageSection("Meshes", _gantt(cost, [mesh.name for mesh in cost.meshes]) + _legend(cost) + _table(meshes)),
        PageSection("Transfers", _gantt(cost, links) + "".join(map(_table, transfers)), str(len(links))),
        PageSection("Memory", "".join(_curve(mesh, cost) for mesh in cost.meshes), "of each device of a mesh"),
        PageSection("Critical path", f"<p>{escape(' → '.join(cost.path))}</p>", str(len(cost.path))),
    ]
    return static_page(title, "pipeline", sections)


def _x(seconds: float, cost: PipelineCost) -> float:
    return LEFT + (WIDTH - LEFT - 10) * (seconds / cost.seconds if cost.seconds else 0.0)


def _gantt(cost: PipelineCost, places: Sequence[str]) -> str:
    """Return a picture with a row for each place; a bar says on hover what it is, and why it waits."""
    parts: list[str] = []
    for row, place in enumerate(places):
        parts.append(f'<text class="strong" x="4" y="{row * ROW + 15}">{escape(place)}</text>')
        before = 0.0
        for slot in sorted((each for each in cost.slots if each.place == place), key=lambda each: each.start):
            parts += _bar(slot, row, cost, slot.start - before)
            before = slot.end
    return _picture(ROW * len(places) + 4, "schedule", "".join(parts))


def _picture(height: int, label: str, content: str) -> str:
    return f'<figure><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{content}</svg></figure>'


def _bar(slot: PipelineSlot, row: int, cost: PipelineCost, waited: float) -> Iterator[str]:
    left, right = _x(slot.start, cost), _x(slot.end, cost)
    y = row * ROW + 2
    size = f'x="{left:.2f}" y="{y}" width="{max(0.4, right - left):.2f}" height="{BAR}"'
    yield f'<rect {size} rx="2" fill="{_COLOURS[slot.kind]}" stroke="var(--card)"><title>'
    yield f"{escape(_hover_text(slot, waited))}</title></rect>"
    if right - left >= LEAST_LABEL:
        yield f'<text x="{left + 3:.2f}" y="{y + 14}" pointer-events="none" style="fill:#fff">{slot.label}</text>'


def _hover_text(slot: PipelineSlot, waited: float) -> str:
    where = "" if slot.stage is None else f", stage {slot.stage}"
    which = "" if slot.microbatch is None else f", microbatch {slot.microbatch}"
    reason = f"; waited {seconds_text(waited)} for {slot.waits_for}" if slot.waits_for and waited > 0 else ""
    times = f"{seconds_text(slot.end - slot.start)}, from {seconds_text(slot.start)} to {seconds_text(slot.end)}"
    return f"{slot.name}: {KINDS[slot.kind]}{where}{which}: {times}{reason}"


def _legend(cost: PipelineCost) -> str:
    kinds = dict.fromkeys(slot.kind for slot in cost.slots if slot.kind != "T")
    chips = (f'<span class="axis" style="--axis:{_COLOURS[kind]}">{kind} {KINDS[kind]}</span>' for kind in kinds)
    return f"<p>{' '.join(chips)}</p>"


def _curve(mesh: MeshCost, cost: PipelineCost) -> str:
    """Return a picture of the bytes alive on each device of a mesh over time."""
    most = max(1, cost.peak_bytes)
    points, height = [f"{LEFT},{CURVE}"], CURVE - 6
    alive = 0
    for time, count in mesh.memory:
        x = _x(time, cost)
        points += [f"{x:.2f},{CURVE - height * alive / most:.2f}", f"{x:.2f},{CURVE - height * count / most:.2f}"]
        alive = count
    points.append(f"{WIDTH - 10},{CURVE - height * alive / most:.2f}")
    text = f'<text class="strong" x="4" y="20">{escape(mesh.name)}</text>'
    text += f'<text x="4" y="36">{escape(rounded_bytes(mesh.peak_bytes))}</text>'
    area = f'<polygon class="area" points="{" ".join(points)} {WIDTH - 10},{CURVE}"/>'
    line = f'<polyline class="edge" points="{" ".join(points)}"/>'
    return _picture(CURVE + 4, f"memory of {escape(mesh.name)}", text + area + line)


def _table(table: FittedTable) -> str:
    rows = ([escape(cell) for cell in row] for row in table.rows)
    return markup_table([escape(each) for each in table.columns], rows, table.right)
