"""The rows of value tables: the name, sharding, global type and local type of each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.text.ssa_names import SsaNames, name_values
from sdy.grammar.write import write_sharding
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class ValueRow:
    """The row of one value. Types are in MLIR syntax; the sharding is empty if the value has none."""

    name: str
    sharding: str
    global_type: str
    local_type: str


def boundary_rows(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[ValueRow]:
    """Return the rows of the arguments and results of the main function, with their names in JAX if known."""
    func, meshes = main_function(module), meshes_of(module)
    types = func.function_type
    names = [f" = {name}" for name in argument_names] or [""] * len(types.inputs)
    arguments = (
        _row(f"%arg{index}{names[index]}", value_type, argument_sharding(func, index), meshes)
        for index, value_type in enumerate(types.inputs)
    )
    results = (
        _row(f"result {index}{_result_info(func, index)}", value_type, function_result_sharding(func, index), meshes)
        for index, value_type in enumerate(types.outputs)
    )
    return [*arguments, *results]


def _result_info(func: FuncOp, index: int) -> str:
    """Return ` = result['loss']` for the name that JAX stores in a result attribute, or an empty string."""
    attributes = func.res_attrs.data[index] if func.res_attrs else None
    info = attributes.data.get("jax.result_info") if isinstance(attributes, DictionaryAttr) else None
    return f" = {info.data}" if isinstance(info, StringAttr) and info.data else ""


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
