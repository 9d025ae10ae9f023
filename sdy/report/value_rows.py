"""How the values of a program lie on the devices: name, sharding, whole shape, local shape."""

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
    """One value. Types are as MLIR writes them; the sharding is empty where there is none."""

    name: str
    sharding: str
    global_type: str
    local_type: str


def boundary_rows(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[ValueRow]:
    """The arguments, then the results, of the main function; with their names in JAX where these are known."""
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
    """What JAX calls a result, ` = result['loss']`: an attribute that it leaves in the program."""
    attributes = func.res_attrs.data[index] if func.res_attrs else None
    info = attributes.data.get("jax.result_info") if isinstance(attributes, DictionaryAttr) else None
    return f" = {info.data}" if isinstance(info, StringAttr) and info.data else ""


def value_rows(module: ModuleOp) -> list[ValueRow]:
    """Every value of the main function that an op gives, in program order."""
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
    """The sharding without its mesh, which all share."""
    return write_sharding(sharding).partition(", ")[2].removesuffix(">")
