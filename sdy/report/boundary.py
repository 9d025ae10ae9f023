"""The arguments and results of the main function: their names, shardings and rows of tables, and which are state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from sdy.dialects.ir.func_attrs import result_name
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.text.ssa_names import name_values
from sdy.documents.document import document
from sdy.grammar.write import write_sharding
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.path_rules import matches_path, path_rules, tree_path
from sdy.model.sharding import TensorSharding

V = TypeVar("V")
_RESULT = re.compile(r"result (\d+)")


@dataclass(frozen=True, slots=True)
class BoundaryValue:
    """An argument or a result. `position` is its name by position: `%arg0`, or `result 0`.

    `jax_name` is its name in a JAX function (`params['up']`, `result['loss']`), or empty.
    """

    position: str
    jax_name: str
    type: Attribute
    sharding: TensorSharding | None

    @property
    def name(self) -> str:
        """The name in JAX; if it is unknown, `%arg0`, or `result[0]` as for a tuple in JAX."""
        return self.jax_name or _RESULT.sub(r"result[\1]", self.position)

    @property
    def names(self) -> tuple[str, str]:
        """All names that refer to the value."""
        return self.position, self.name


def boundary_values(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[BoundaryValue]:
    """Return the arguments, then the results, of the main function."""
    func = main_function(module)
    inputs, outputs = func.function_type.inputs, func.function_type.outputs
    names = argument_names or [""] * len(inputs)
    arguments = (
        BoundaryValue(f"%arg{index}", name, value_type, argument_sharding(func, index))
        for index, (name, value_type) in enumerate(zip(names, inputs, strict=True))
    )
    results = (
        BoundaryValue(f"result {index}", result_name(func, index), value_type, function_result_sharding(func, index))
        for index, value_type in enumerate(outputs)
    )
    return [*arguments, *results]


Leaves = dict[str, int]  # the number of each leaf by its path


def returned_state(values: Sequence[BoundaryValue], argument_count: int) -> dict[int, int]:
    """Return the number of each result that is the next value of an argument, with the number of that argument.

    `values` are the arguments, then the results. A tree of results is the next value of the argument that has the same
    paths and types, as in `params, state = step(params, state, x)`; large trees are compared before those in them.
    Arguments of one leaf are not compared: too many results have the same type.
    """
    arguments, results = (
        {tree_path(value.jax_name): number for number, value in enumerate(part) if value.jax_name}
        for part in (values[:argument_count], values[argument_count:])
    )
    found: dict[int, int] = {}
    trees = [tree for tree in sorted(by_tree(arguments).values(), key=len, reverse=True) if len(tree) > 1]
    prefixes = sorted(dict.fromkeys(_prefixes(results)), key=lambda prefix: prefix.count("."))
    for prefix, tree in product(prefixes, trees):
        pairs = [(results[path], number) for rest, number in tree.items() if (path := f"{prefix}.{rest}") in results]
        is_new = not any(result in found or number in found.values() for result, number in pairs)
        is_alike = all(values[argument_count + result].type == values[number].type for result, number in pairs)
        if len(pairs) == len(tree) and is_new and is_alike:
            found |= dict(pairs)
    return found


def _prefixes(paths: Leaves) -> Iterator[str]:
    """Yield the first keys of paths, in order."""
    for path in paths:
        keys = path.split(".")
        yield from (".".join(keys[:count]) for count in range(1, len(keys)))


def by_tree(paths: Mapping[str, V]) -> dict[str, dict[str, V]]:
    """Return what belongs to the leaves of each tree, with their paths in it."""
    found: dict[str, dict[str, V]] = {}
    for path, value in paths.items():
        name, _, rest = path.partition(".")
        found.setdefault(name, {})[rest] = value
    return found


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
    meshes, names = meshes_of(module), name_values(module, unique=False)
    return [
        _row(f"%{names[result]} = {op.name}", result.type, sharding_of(result), meshes)
        for op in main_function(module).body.block.ops
        for result in op.results
    ]


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
        document("Mesh", mesh, name=name, axes=mesh.sizes, devices=mesh.device_count) for name, mesh in meshes.items()
    ]
