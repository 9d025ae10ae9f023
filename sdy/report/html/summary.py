"""The summary of a program as an HTML fragment, which notebooks show: meshes, arguments and results.

It takes the colours of the page around it, light or dark, and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.meshes import meshes_of
from sdy.report.boundary import BoundaryValue, boundary_values
from sdy.report.trace_descriptions import dims_text

_STYLE = "border-collapse:collapse;background:transparent;color:inherit;font-variant-numeric:tabular-nums"
_CELL = "text-align:left;padding:.15em 1em .15em 0;border-bottom:1px solid rgba(128,128,128,.4)"


def summary_html(headline: str, module: ModuleOp, argument_names: Sequence[str] = ()) -> str:
    """Return the fragment for a program that is described by one line, with the shardings that are annotated in it."""
    meshes = (
        f"<div>@{escape(name)}: {escape(', '.join(f'{axis.name}={axis.size}' for axis in mesh.axes))}, "
        f"{mesh.device_count} devices</div>"
        for name, mesh in meshes_of(module).items()
    )
    rows = (_row(_cells(each), "td") for each in boundary_values(module, argument_names))
    table = f'<table style="{_STYLE}">{_row(("value", "type", "annotated sharding"), "th")}{"".join(rows)}</table>'
    return f"<div><div><b>{escape(headline)}</b></div>{''.join(meshes)}{table}</div>"


def _cells(value: BoundaryValue) -> tuple[str, str, str]:
    return value.name, str(value.type), "" if value.sharding is None else dims_text(value.sharding)


def _row(cells: Iterable[str], tag: str) -> str:
    shown = (f'<{tag} style="{_CELL}"><code>{escape(cell)}</code></{tag}>' for cell in cells)
    return f"<tr>{''.join(shown)}</tr>"
