"""Generates a self-contained HTML page on a partitioned program, which loads nothing from the network."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from json import dumps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from sdy.compile.compiled import Compiled
from sdy.cost.hardware import Hardware
from sdy.cost.memory import values_at_peak
from sdy.cost.program_cost import cost_of
from sdy.cost.schedule import schedule_of
from sdy.diagnostics.diagnostic import render
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.model.mesh import Mesh
from sdy.report.explanation.causes import CollectiveCauses
from sdy.report.explanation.explainer import Explainer
from sdy.report.html.markup import page_style
from sdy.report.html.page_rows import Json, ProgramRows, collective_rows, memory_json

SCRIPTS = ("format", "model", "program", "panels", "search")  # in execution order
MAX_LINE_LENGTH = 600  # longer lines of the program are truncated


def html_page(
    program: Compiled[Any],
    explainer: Explainer,
    hardware: Hardware,
    partitioners: Sequence[Json] = (),
    head: Sequence[str] = (),
) -> str:
    """Return the text of the page, with times estimated for a machine, and what `partitioners` made of the program.

    `head` has the lines that a reader sees first.
    """
    data = {**page_data(program, explainer, hardware), "partitioners": partitioners, "head": head}
    return (
        _part("html")
        .replace("/* style */", page_style())
        .replace("/* script */", "\n".join(_part(f"{name}.js") for name in SCRIPTS))
        # Escape "<", so that no text of the program can close the script element.
        .replace("/* data */", dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
    )


def page_data(program: Compiled[Any], explainer: Explainer, hardware: Hardware) -> Json:
    """Return the data of the page as JSON."""
    schedule = schedule_of(program.local, program.mesh, hardware)
    rows = ProgramRows(program.written, program.global_module, explainer, program.origin.argument_names)
    peak = values_at_peak(program.local)
    causes = CollectiveCauses(explainer, program.remarks)
    return {
        "file": _file(program),
        "cost": cost_of(program.local, program.mesh, hardware, schedule=schedule).to_json(),
        "meshes": [_mesh_json(name, mesh) for name, mesh in meshes_of(program.global_module).items() if mesh.axes],
        "collectives": collective_rows(schedule.ops, program.origin, causes),
        "memory": memory_json(program.local, peak, schedule.ops, program.written, explainer.names),
        "conflicts": [[site.line, site.line_text, site.op, site.sentences] for site in explainer.conflict_sites()],
        "remarks": [render(remark) for remark in (*program.origin.warnings, *program.remarks)],
        "source": dict(_source(program)),
        **rows.to_json(),
    }


def _part(kind: str) -> str:
    return files("sdy.report.html").joinpath(f"page.{kind}").read_text("utf-8")


def _file(program: Compiled[Any]) -> str:
    """Return the name of the source file: that of the source program if there is one, otherwise of the text."""
    if program.origin.source_lines:
        return next(iter(program.origin.source_lines.values())).rpartition(":")[0]
    span = span_of(main_function(program.written))
    return "" if span is None else span.file


def _mesh_json(name: str, mesh: Mesh) -> Json:
    axes = [[axis.name, axis.size] for axis in mesh.axes]
    return {"name": name, "axes": axes, "devices": mesh.device_count, "order": list(mesh.device_ids)}


def _source(program: Compiled[Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and text of each line, with the corresponding line of the source program."""
    for number, line in enumerate(program.origin.text.splitlines(), 1):
        text = line.strip()
        shown = text if len(text) <= MAX_LINE_LENGTH else f"{text[:MAX_LINE_LENGTH]} …"
        yield number, [shown, program.origin.source_lines.get(number, "")]


HEIGHT = 640  # pixels


@dataclass(frozen=True, slots=True)
class InlinePage:
    """A page in a frame, which a notebook shows if it is the value of a cell."""

    html: str
    height: int = HEIGHT

    def __repr__(self) -> str:
        return f"InlinePage(height={self.height})"

    def _repr_html_(self) -> str:
        """Return a frame that contains the page, so that neither affects the style of the other."""
        style = f"width:100%;height:{self.height}px;border:1px solid rgba(128,128,128,.4);border-radius:8px"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="report"></iframe>'


def shown_page(html: str, height: int = HEIGHT) -> InlinePage | Path:
    """Return a page for a notebook to show; outside of a notebook, open it in a browser and return its file."""
    if in_notebook():
        return InlinePage(html, height)
    with NamedTemporaryFile("w", prefix="sdy-", suffix=".html", encoding="utf-8", delete=False) as file:
        file.write(html)
    path = Path(file.name)
    webbrowser.open(path.as_uri())
    return path


def in_notebook() -> bool:
    """Return whether the code runs in a cell of Jupyter, VS Code, Colab or marimo, which show values as HTML."""
    # A notebook has imported its own library, so nothing needs to be imported to find out.
    ipython, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")
    if ipython is not None:
        shell = ipython.get_ipython()
        if getattr(shell, "kernel", None) is not None:
            return True
    return marimo is not None and bool(marimo.running_in_notebook())
