"""HTML fragments of a program: its meshes, its arguments and results, and its collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.propagated import PropagatedProgram
from sdy.cost.collective_uses import collectives_of
from sdy.dialects.meshes import meshes_of
from sdy.report.boundary import BoundaryValue, boundary_values
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.html.fragment import tables_html
from sdy.report.tables.fitted_table import FittedTable, fitted_table
from sdy.report.tables.program_tables import collectives_table, values_table
from sdy.report.value_rows import boundary_rows


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
