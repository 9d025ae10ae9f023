"""HTML fragments of meshes, shardings, placements, costs and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.propagated import PropagatedProgram
from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.cost.statistics import Statistics
from sdy.cost.traffic import collectives_of
from sdy.dialects.meshes import meshes_of
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape, local_shape
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import BoundaryValue, boundary_rows, boundary_values
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.html.markup import (
    AxisColours,
    cards,
    colours_of,
    fragment,
    markup_table,
    mesh_line,
    table_block,
    tables_html,
)
from sdy.report.html.placement_picture import placement_picture
from sdy.report.tables.cost_tables import cost_tables, machines_table
from sdy.report.tables.fitted_table import FittedTable, fitted_table
from sdy.report.tables.program_tables import bytes_text, collectives_table, statistics_tables, values_table

MAX_GRID_ROWS, MAX_GRID_COLUMNS = 16, 32
MAX_PICTURES = 12


def mesh_html(mesh: Mesh) -> str:
    """Return the axes of a mesh, and the devices by their coordinates: the last axis runs across, the others down."""
    colours = colours_of([mesh])
    return fragment(repr(mesh), [f"<div>{mesh_line('', mesh, colours)}</div>", *_devices_grid(mesh, colours)])


def _devices_grid(mesh: Mesh, colours: AxisColours) -> Iterator[str]:
    if not mesh.axes:
        return
    *outer, inner = mesh.axes
    count = mesh.device_count // inner.size if inner.size else 0
    if not 0 < count <= MAX_GRID_ROWS or inner.size > MAX_GRID_COLUMNS:
        return
    devices = mesh.devices()
    heads = [*(colours.chip(axis.name, axis.name) for axis in outer)]
    columns = [*heads, *(colours.chip(inner.name, f"{inner.name}={index}") for index in range(inner.size))]
    rows = [
        [
            *_coordinates(row, [axis.size for axis in outer]),
            *map(str, devices[row * inner.size : (row + 1) * inner.size]),
        ]
        for row in range(count)
    ]
    yield markup_table(columns, rows, right=range(len(columns)))


def _coordinates(position: int, sizes: Sequence[int]) -> list[str]:
    found: list[str] = []
    for size in reversed(sizes):
        position, coordinate = divmod(position, size)
        found.append(str(coordinate))
    return found[::-1]


def sharding_html(sharding: TensorSharding) -> str:
    """Return the axes of each dim of a sharding, and its other axes; on an inlined mesh, the shards of each dim too."""
    mesh = sharding.mesh if isinstance(sharding.mesh, Mesh) else None
    colours = colours_of([] if mesh is None else [mesh])
    rows = [
        [
            str(index),
            colours.marked(", ".join(map(str, dim.axes))) if dim.axes else "unsharded",
            "closed" if dim.is_closed else "open",
            "" if dim.priority is None else f"p{dim.priority}",
            *([] if mesh is None else [str(sharded_size(dim.axes, mesh))]),
        ]
        for index, dim in enumerate(sharding.dims)
    ]
    columns = ("dim", "sharded along", "", "priority", *([] if mesh is None else ["shards"]))
    others = (("replicated", sharding.replicated), (f"unreduced ({sharding.unreduced_kind.value})", sharding.unreduced))
    lines = (f"<div>{name} along {colours.marked(', '.join(map(str, axes)))}</div>" for name, axes in others if axes)
    return fragment(repr(sharding), [markup_table(columns, rows, right=(0, 4)) if rows else "", *lines])


def tensor_placement_html(placement: TensorPlacement) -> str:
    """Return the picture of a tensor on devices, and its sharding."""
    return fragment(repr(placement), [_figure("", placement, colours_of([placement.mesh]))])


def program_placement_html(placement: ProgramPlacement) -> str:
    """Return pictures of the arguments and results of a program, or a table if there are many."""
    colours = colours_of([placement.mesh])
    named = [
        *((f"argument {index}", each) for index, each in enumerate(placement.arguments)),
        *((f"result {index}", each) for index, each in enumerate(placement.results)),
    ]
    line = f"<div>{mesh_line('', placement.mesh, colours)}</div>"
    if len(named) > MAX_PICTURES:
        rows = ((name, _sizes(each.shape), dims_text(each.sharding)) for name, each in named)
        table = table_block(fitted_table("arguments and results", ("value", "shape", "sharding"), rows), colours)
        return fragment(repr(placement), [line, table])
    figures = "".join(_figure(name, each, colours) for name, each in named)
    return fragment(repr(placement), [line, f'<div class="pictures">{figures}</div>'])


def _figure(name: str, placement: TensorPlacement, colours: AxisColours) -> str:
    local = "" if placement.mesh.is_maximal else local_shape(placement.shape, placement.sharding, placement.mesh)
    shards = f"<div>{_sizes(local)} on each device</div>" if local else ""
    caption = f"{escape(name)} {_sizes(placement.shape)} {colours.marked(dims_text(placement.sharding))}{shards}"
    return f"<figure><figcaption>{caption}</figcaption>{placement_picture(placement, colours)}</figure>"


def _sizes(shape: Shape) -> str:
    return "×".join(map(str, shape)) or "scalar"


def cost_html(cost: ProgramCost) -> str:
    """Return the time, the bytes and the memory of a program on a machine, and the tables of `sdy cost`."""
    colours = AxisColours(cost.axes)
    numbers = (
        (seconds_text(cost.seconds_in_turn), "without overlap", ""),
        (seconds_text(cost.op_seconds), "of ops", ""),
        (seconds_text(cost.communication_seconds), "of collectives", ""),
        (bytes_text(cost.bytes_sent), "bytes sent by a device", ""),
        (
            bytes_text(cost.peak_bytes),
            "peak bytes" if cost.fits else "peak bytes: too many",
            "" if cost.fits else "bad",
        ),
    )
    collectives, times, _ = cost_tables(cost)
    shown = [collectives, times] if cost.collectives else [times]
    return fragment(repr(cost), [cards(numbers), *(table_block(each, colours) for each in shown)])


def statistics_html(statistics: Statistics) -> str:
    """Return the collectives of one device by kind, and its totals."""
    return tables_html(repr(statistics), statistics_tables(statistics))


def hardware_html(hardware: Hardware) -> str:
    """Return the links, the memory and the rate of a machine."""
    return tables_html(repr(hardware), [replace(machines_table([hardware]), title="one device")])


def summary_html(headline: str, module: ModuleOp, argument_names: Sequence[str] = ()) -> str:
    """Return the fragment for a program that is described by one line, with the shardings that are annotated in it."""
    rows = map(_cells, boundary_values(module, argument_names))
    table = fitted_table("arguments and results", ("value", "type", "annotated sharding"), rows)
    return tables_html(headline, [table], meshes=meshes_of(module))


def propagated_html(program: PropagatedProgram[Any]) -> str:
    """Return the meshes, and a table of the arguments and results with their shardings and local types."""
    table = _boundary_table(program.module, program.origin.argument_names)
    return tables_html(repr(program), [table], meshes=meshes_of(program.module))


def compiled_html(program: Compiled[Any]) -> str:
    """Return what `propagated_html` shows, and a table of the collectives with their bytes."""
    module, uses = program.global_module, collectives_of(program.local, program.mesh)
    collectives = [collectives_table(uses)] if uses else []
    notes = [] if uses else ["No collective is needed."]
    tables = [_boundary_table(module, program.origin.argument_names), *collectives]
    return tables_html(repr(program), tables, notes, meshes_of(module))


def _boundary_table(module: ModuleOp, argument_names: Sequence[str]) -> FittedTable:
    return values_table("arguments and results", boundary_rows(module, argument_names))


def _cells(value: BoundaryValue) -> tuple[str, str, str]:
    return value.name, str(value.type), "" if value.sharding is None else dims_text(value.sharding)
