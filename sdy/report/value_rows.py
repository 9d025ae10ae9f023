"""The rows of value tables: the name, sharding, global type and local type of each value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.diagnostics.wording import first_names
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import sharding_of
from sdy.dialects.text.ssa_names import SsaNames, name_values
from sdy.grammar.write import write_sharding
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import boundary_values
from sdy.report.similar_entries import groups_of_similar, without_names

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class ValueRow:
    """The row of one value. Types are in MLIR syntax; the sharding is empty if the value has none."""

    name: str
    sharding: str
    global_type: str
    local_type: str


def boundary_rows(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[ValueRow]:
    """Return the rows of the arguments and results of the main function, with their names in JAX if known."""
    meshes = meshes_of(module)
    return [_row(each.name, each.type, each.sharding, meshes) for each in boundary_values(module, argument_names)]


def without_similar(rows: Sequence[ValueRow]) -> list[ValueRow]:
    """Return the rows; in a long list, one for all values with equal shardings and types and similar names."""
    groups = groups_of_similar(rows, lambda row: replace(row, name=without_names(row.name)), verbose=False)
    return [replace(row, name=f"{row.name} and {len(others):,} more") if others else row for row, *others in groups]


def folded_rows(rows: Sequence[ValueRow]) -> list[tuple[str, str, int]]:
    """Return the names, the sharding and the number of the values of each pytree that are sharded alike.

    Indices are `*` in names: those of layers, of which one stands for all.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        tree = without_names(row.name.partition("[")[0])
        groups.setdefault((tree, row.sharding), []).append(_INDEX.sub("[*]", row.name))
    return [(first_names(list(dict.fromkeys(names))), sharding, len(names)) for (_, sharding), names in groups.items()]


def value_rows(module: ModuleOp) -> list[ValueRow]:
    """Return the rows of all op results of the main function body, in program order."""
    func, meshes = main_function(module), meshes_of(module)
    return list(_op_rows(func, name_values(module, unique=False), meshes))


def _op_rows(func: FuncOp, names: SsaNames, meshes: MeshTable) -> Iterator[ValueRow]:
    for op in func.body.block.ops:
        for result in op.results:
            yield _row(f"%{names[result]} = {op.name}", result.type, sharding_of(result), meshes)


def _row(name: str, value_type: Attribute, sharding: TensorSharding | None, meshes: MeshTable) -> ValueRow:
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
    if sharding is None or mesh is None:
        return ValueRow(name, "", str(value_type), str(value_type))
    return ValueRow(name, _dims_text(sharding), str(value_type), str(local_type(value_type, sharding, mesh)))


def _dims_text(sharding: TensorSharding) -> str:
    """Return the sharding without its mesh."""
    return write_sharding(sharding).partition(", ")[2].removesuffix(">")
