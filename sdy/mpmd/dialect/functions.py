"""Functions of programs with several meshes, and the meshes that an op can name. Source: docs/spec/07, 4.1 and 4.2."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.attrs import TopologyAttr

TOPOLOGY, MESH_SHAPE = "topology", "mesh_shape"


def failure(op: Operation, code: str, message: str, hint: str | None = None) -> SdyError:
    """Return the error at an op."""
    return SdyError(Diagnostic(code, message, span_of(op), hint))


def topology_of(func: FuncOp | None) -> TopologyAttr | None:
    """Return the topology of an MPMD function, or None."""
    found = None if func is None else func.attributes.get(TOPOLOGY)
    return found if isinstance(found, TopologyAttr) else None


def is_mpmd(func: FuncOp) -> bool:
    """Return whether a function has a topology."""
    return TOPOLOGY in func.attributes


def is_distributed(func: FuncOp) -> bool:
    """Return whether a function has a topology or runs on one mesh."""
    return TOPOLOGY in func.attributes or MESH_SHAPE in func.attributes


def is_entry_point(func: FuncOp) -> bool:
    """Return whether a function is distributed and public."""
    return is_distributed(func) and is_public(func)


def is_public(func: FuncOp) -> bool:
    """Return whether a function is visible from outside of its module."""
    return func.sym_visibility is None or func.sym_visibility == StringAttr("public")


def mpmd_functions(module: ModuleOp) -> list[FuncOp]:
    """Return the functions of a module that have a topology and a body, in order."""
    return [func for func in functions_of(module).values() if is_mpmd(func) and not func.is_declaration]


def function_around(op: Operation) -> FuncOp | None:
    """Return the function that contains an op."""
    return enclosing(op, FuncOp)


def mesh_named(op: Operation, name: str) -> Mesh:
    """Return the mesh of a name in the topology of the function around an op.

    Raises: SdyError SDY-M001 if there is no topology, or no such mesh.
    """
    func = function_around(op)
    topology = topology_of(func)
    if topology is None:
        where = "" if func is None else f" @{func.sym_name.data}"
        raise failure(op, "SDY-M001", f"function{where} has no topology, in which to look up mesh {name}")
    mesh = topology.mesh(name)
    if mesh is None:
        names = [named.name for named in topology.data]
        hint = similar_name_hint(name, names) or f"meshes: {', '.join(names)}"
        raise failure(op, "SDY-M001", f"the topology has no mesh with name {name}", hint)
    return mesh


def mesh_shape_of(func: FuncOp) -> Mesh:
    """Return the mesh that a function runs on. Raises: SdyError SDY-M001 at the function if it names none."""
    mesh = func.attributes.get(MESH_SHAPE)
    if not isinstance(mesh, MeshAttr):
        raise failure(func, "SDY-M001", f"function @{func.sym_name.data} has no attribute {MESH_SHAPE}")
    return mesh.data


def update_function_type(func: FuncOp) -> None:
    """Set the type of a function to those of its arguments and of the values that it returns."""
    returned = terminator_of(func.body)
    func.function_type = FunctionType.from_lists(func.body.block.arg_types, list(returned.operand_types))
