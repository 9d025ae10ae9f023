"""Functions of programs with several meshes, the meshes that an op can name, and checks of ops against them.

Source: docs/spec/07, 3, 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted, similar_name_hint
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.dialects.sdy.types import value_shape
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.attrs import TopologyAttr
from sdy.mpmd.dialect.types import MeshTensorType

TOPOLOGY, MESH_SHAPE = "topology", "mesh_shape"


def failure(op: Operation, code: str, message: str, hint: str | None = None) -> SdyError:
    """Return the error at an op."""
    return SdyError(Diagnostic(code, message, span_of(op), hint))


def topology_of(func: FuncOp | None) -> TopologyAttr | None:
    """Return the topology of an MPMD function, or None."""
    found = None if func is None else func.attributes.get(TOPOLOGY)
    return found if isinstance(found, TopologyAttr) else None


def mesh_names(func: FuncOp | None) -> list[str]:
    """Return the names of the meshes in the topology of a function, in order; none if it has no topology."""
    topology = topology_of(func)
    return [] if topology is None else [named.name for named in topology.data]


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


def mesh_named(op: Operation, name: str) -> Mesh:
    """Return the mesh of a name in the topology of the function around an op.

    Raises: SdyError SDY-M001 if there is no topology, or no such mesh.
    """
    func = enclosing(op, FuncOp)
    topology = topology_of(func)
    if topology is None:
        where = "" if func is None else f" @{func.sym_name.data}"
        raise failure(op, "SDY-M001", f"function{where} has no topology, in which to look up mesh {name}")
    mesh = topology.mesh(name)
    if mesh is None:
        names = mesh_names(func)
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


def check_in_topology(op: Operation, value_type: MeshTensorType) -> None:
    """Check that the mesh of a type exists, and that its sharding fits. Raises: SdyError at the op."""
    mesh, sharding = mesh_named(op, value_type.mesh), value_type.sharding
    problem = None if sharding is None else check_sharding(sharding, value_shape(value_type), mesh)
    if problem is not None:
        raise SdyError(replace(problem, message=f"{op.name}: {problem.message}", span=span_of(op)))


def check_values(
    op: Operation,
    where: tuple[str, str],
    outer: Sequence[Attribute],
    inner: Sequence[Attribute],
    mesh: str | None = None,
) -> None:
    """Check that there is one value in the body per value of the op, with the same type; `where` names both.

    Mesh tensors of a fragment must be on its mesh, and are global tensors in its body.
    Raises: SdyError SDY-M001, SDY-M002, or that of a sharding.
    """
    check_count(op, where, outer, inner)
    for index, (outer_type, inner_type) in enumerate(zip(outer, inner, strict=True)):
        expected = outer_type
        if mesh is not None and isinstance(outer_type, MeshTensorType):
            if outer_type.mesh != mesh:
                message = f"{op.name}: {where[0]} {index} must be on the mesh of the op, {mesh}, got {outer_type.mesh}"
                raise failure(op, "SDY-M002", message)
            check_in_topology(op, outer_type)
            expected = outer_type.tensor
        if inner_type != expected:
            message = f"{op.name}: {where[1]} {index} must have the type {expected}, got {inner_type}"
            raise failure(op, "SDY-M002", message)


def check_count(op: Operation, where: tuple[str, str], outer: Sequence[object], inner: Sequence[object]) -> None:
    """Check that there are equal numbers of values. Raises: SdyError SDY-M002."""
    if len(outer) != len(inner):
        message = f"{op.name}: expected {counted(len(outer), where[1])}, one per {where[0]}, got {len(inner)}"
        raise failure(op, "SDY-M002", message)


def callee_of(op: Operation, name: str) -> FuncOp:
    """Return the function that an op calls. Raises: SdyError SDY-M003 if it does not exist."""
    functions = functions_of(module_around(op))
    if name not in functions:
        message = f"{op.name}: function @{name} is not defined"
        raise failure(op, "SDY-M003", message, similar_name_hint(name, functions, "@"))
    return functions[name]


def module_around(op: Operation) -> ModuleOp:
    """Return the module that contains an op."""
    module = enclosing(op, ModuleOp)
    assert module is not None  # ops are verified inside of a module
    return module
