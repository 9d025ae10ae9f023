"""Checks of ops of the dialect `mpmd` against the topology and the functions they name. Source: docs/spec/07, 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.diagnostics.wording import counted, similar_name_hint
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.types import value_shape
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.functions import failure, mesh_named
from sdy.mpmd.dialect.types import MeshTensorType


def check_on_mesh(op: Operation, value_type: MeshTensorType, mesh: Mesh) -> None:
    """Check the sharding of a type against its mesh. Raises: SdyError at the op."""
    sharding = value_type.sharding
    problem = None if sharding is None else check_sharding(sharding, value_shape(value_type), mesh)
    if problem is not None:
        raise SdyError(replace(problem, message=f"{op.name}: {problem.message}", span=span_of(op)))


def check_in_topology(op: Operation, value_type: MeshTensorType) -> None:
    """Check that the mesh of a type exists, and that its sharding fits. Raises: SdyError at the op."""
    check_on_mesh(op, value_type, mesh_named(op, value_type.mesh))


def check_body_values(
    op: Operation, where: tuple[str, str], outer: Sequence[Attribute], inner: Sequence[Attribute]
) -> None:
    """Check that there is one value in the body per value of the op, with the same type; `where` names both.

    Raises: SdyError SDY-M002.
    """
    check_count(op, where, outer, inner)
    for index, (outer_type, inner_type) in enumerate(zip(outer, inner, strict=True)):
        if inner_type != outer_type:
            message = f"{op.name}: {where[1]} {index} must have the type {outer_type}, got {inner_type}"
            raise failure(op, "SDY-M002", message)


def check_fragment_values(
    op: Operation, mesh: str, where: tuple[str, str], outer: Sequence[Attribute], inner: Sequence[Attribute]
) -> None:
    """Check that the mesh tensors of a fragment are on its mesh, and their global tensors in its body.

    `where` names the values outside and inside. Raises: SdyError SDY-M001, SDY-M002, or that of a sharding.
    """
    check_count(op, where, outer, inner)
    for index, (outer_type, inner_type) in enumerate(zip(outer, inner, strict=True)):
        devices = mesh_named(op, mesh)
        expected = outer_type
        if isinstance(outer_type, MeshTensorType):
            if outer_type.mesh != mesh:
                message = f"{op.name}: {where[0]} {index} must be on the mesh of the op, {mesh}, got {outer_type.mesh}"
                raise failure(op, "SDY-M002", message)
            check_on_mesh(op, outer_type, devices)
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
