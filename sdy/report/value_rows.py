"""The rows of value tables: the name, sharding, global type and local type of each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import sharding_of
from sdy.dialects.text.ssa_names import SsaNames, name_values
from sdy.grammar.write import write_sharding
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.path_rules import matches_path, path_rules, tree_path
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import boundary_values

REPLICATED = "replicated"


@dataclass(frozen=True, slots=True)
class ValueRow:
    """The row of one value. Types are in MLIR syntax; the sharding is empty if the value has none."""

    name: str
    sharding: str
    global_type: str
    local_type: str

    @property
    def is_replicated(self) -> bool:
        """Return whether the sharding has no axes."""
        return '"' not in self.sharding


def boundary_rows(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[ValueRow]:
    """Return the rows of the arguments and results of the main function, with their names in JAX if known."""
    meshes = meshes_of(module)
    return [_row(each.name, each.type, each.sharding, meshes) for each in boundary_values(module, argument_names)]


def folded_rows(rows: Sequence[ValueRow]) -> list[tuple[str, str, int]]:
    """Return patterns of the paths of values, the sharding of those that match, and their number, the most first.

    A value counts for the first pattern that matches: equal layers, and weights with the state of their optimizer,
    share one. The last pattern, `*`, has all others.
    """
    shardings = {tree_path(row.name): REPLICATED if row.is_replicated else row.sharding for row in rows}
    rules = path_rules(shardings, REPLICATED)
    counts = Counter(next(pattern for pattern in rules if matches_path(pattern, path)) for path in shardings)
    return [(pattern, sharding, counts[pattern]) for pattern, sharding in rules.items()]


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


def meshes_json(meshes: Mapping[str, Mesh]) -> list[dict[str, object]]:
    """Return the meshes of a module as plain data."""
    return [
        {
            "name": name,
            "axes": {axis.name: axis.size for axis in mesh.axes},
            "devices": mesh.device_count,
            "device_ids": list(mesh.device_ids),
        }
        for name, mesh in meshes.items()
    ]
