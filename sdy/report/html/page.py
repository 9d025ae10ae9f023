"""One page that shows a partitioned program: all data and all code in it, nothing from the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from json import dumps

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import cost_of
from sdy.cost.schedule import schedule_of
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.render import render
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.model.mesh import Mesh
from sdy.report.explain import Explainer
from sdy.report.html.page_tables import Json
from sdy.report.html.program_rows import ProgramRows
from sdy.report.html.schedule_rows import collective_rows, memory_json

SCRIPTS = ("model", "program", "panels", "search")  # in the order in which they run
LONGEST_LINE = 600  # characters of a line of the program that the page keeps


@dataclass(frozen=True)
class PageInputs:
    """What the page is made of: the program as it was written, on whole tensors with collectives, and of one device.

    `mesh` is the one whose devices run it. `source_lines` tells the line of another program behind a line of `text`.
    """

    written: ModuleOp
    global_module: ModuleOp
    local: ModuleOp
    mesh: Mesh
    explainer: Explainer
    text: str
    source_lines: Mapping[int, str]
    argument_names: Sequence[str]
    remarks: Sequence[Diagnostic]


def html_page(program: PageInputs, hardware: Hardware) -> str:
    """The text of the page; times are those of a machine."""
    data = page_data(program, hardware)
    return (
        _part("html")
        .replace("/* style */", _part("css"))
        .replace("/* script */", "\n".join(_part(f"{name}.js") for name in SCRIPTS))
        # Nothing of the program can end the element that it stands in.
        .replace("/* data */", dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
    )


def page_data(program: PageInputs, hardware: Hardware) -> Json:
    """Everything that the page shows, as plain data."""
    slots = list(schedule_of(program.local, program.mesh, hardware))
    rows = ProgramRows(program.written, program.global_module, program.explainer, program.argument_names)
    return {
        "file": _file(program),
        "cost": cost_of(program.local, program.mesh, hardware).to_json(),
        "meshes": [_mesh_json(name, mesh) for name, mesh in meshes_of(program.global_module).items() if mesh.axes],
        "collectives": collective_rows(slots, program.source_lines),
        "memory": memory_json(program.local, slots, program.written, program.explainer.names),
        "conflicts": [[site.line, site.place, site.op, site.sentences] for site in program.explainer.conflict_sites()],
        "remarks": [render(remark) for remark in program.remarks],
        "source": dict(_source(program)),
        **rows.to_json(),
    }


def _part(kind: str) -> str:
    return files("sdy.report.html").joinpath(f"page.{kind}").read_text("utf-8")


def _file(program: PageInputs) -> str:
    """The file that people know: that of the program behind the text, where there is one."""
    if program.source_lines:
        return next(iter(program.source_lines.values())).rpartition(":")[0]
    place = span_of(main_function(program.written))
    return "" if place is None else place.file


def _mesh_json(name: str, mesh: Mesh) -> Json:
    axes = [[axis.name, axis.size] for axis in mesh.axes]
    return {"name": name, "axes": axes, "devices": mesh.device_count, "order": list(mesh.device_ids)}


def _source(program: PageInputs) -> Iterator[tuple[int, list[str]]]:
    """The lines of the text, each with its place in the program behind it."""
    for number, line in enumerate(program.text.splitlines(), 1):
        text = line.strip()
        shown = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} …"
        yield number, [shown, program.source_lines.get(number, "")]
