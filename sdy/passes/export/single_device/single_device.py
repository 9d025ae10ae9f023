"""Find ops that run on one device, and reshard their tensors to the device and back.

Source: docs/spec/05, 1.10; docs/spec/06, 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import (
    argument_sharding,
    function_result_sharding,
    is_on_single_device,
    set_result_shardings,
    sharding_before_barriers,
    sharding_of,
)
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.passes.rewriting.insertion import insert, location_of, redirect_other_uses


def global_mesh(module: ModuleOp) -> str | None:
    """Return the name of the first mesh with several devices; None if there is none."""
    return next((name for name, mesh in meshes_of(module).items() if mesh.axes), None)


def device_mesh(op: Operation, meshes: MeshTable) -> str | None:
    """Return the name of the single-device mesh on which `op` runs; None if it runs on all devices.

    Raises: SdyError SDY-L016 if its results name two devices.
    """
    found: str | None = None
    for result in op.results:
        sharding = sharding_before_barriers(result)
        if sharding is None or not isinstance(result.type, TensorType):
            continue
        if not isinstance(sharding.mesh, str) or not is_on_single_device(sharding, meshes):
            continue
        if found is not None and meshes[found] != meshes[sharding.mesh]:
            message = f"{op.name} has conflicting single-device result shardings: @{found} and @{sharding.mesh}"
            raise SdyError(Diagnostic("SDY-L016", message, span_of(op), hint="put all results on one device"))
        found = sharding.mesh
    return found


def check_boundary(func: FuncOp, meshes: MeshTable) -> None:
    """Check a function. Raises: SdyError SDY-L017 if an argument or result is placed on one device."""
    arguments = [(f"argument {i}", argument_sharding(func, i)) for i in range(len(func.function_type.inputs))]
    results = [(f"result {i}", function_result_sharding(func, i)) for i in range(len(func.function_type.outputs))]
    for name, sharding in (*arguments, *results):
        if sharding is not None and is_on_single_device(sharding, meshes):
            mesh = resolve_mesh(sharding.mesh, meshes)
            device = "" if mesh is None else f", on device {mesh.device_ids[0]}"
            message = f"function {name} cannot have a single-device (maximal) sharding attribute{device}"
            hint = "replicate it over a mesh of several devices"
            raise SdyError(Diagnostic("SDY-L017", message, span_of(func), hint=hint))


def reshard_to_device(op: Operation, device: str, everywhere: str, meshes: MeshTable) -> None:
    """Reshard the operands of `op` to the mesh `device`, through replicas on `everywhere`, and its results back."""
    alone = TensorSharding(device, ())
    for index, operand in enumerate(tuple(op.operands)):
        if isinstance(operand.type, TensorType):
            op.operands[index] = _on_device(op, operand, alone, _replicated(everywhere, operand), meshes)
    wanted = [sharding_of(result) for result in op.results]
    last = op
    for result, target in zip(op.results, wanted, strict=True):
        if isinstance(result.type, TensorType):
            last = _back_from_device(op, result, target, _replicated(everywhere, result), last, meshes)
    tokens = TensorSharding(everywhere, ())
    set_result_shardings(op, tuple(alone if isinstance(each.type, TensorType) else tokens for each in op.results))


def _replicated(mesh: str, value: SSAValue) -> TensorSharding:
    return fully_closed(mesh, rank_of_type(value.type))


def _on_device(
    op: Operation, operand: SSAValue, alone: TensorSharding, copies: TensorSharding, meshes: MeshTable
) -> SSAValue:
    sharding = sharding_of(operand) or copies
    is_there = is_on_single_device(sharding, meshes) and sharding.mesh == alone.mesh
    if is_there and is_equivalent(sharding, alone):
        return operand
    point, location = InsertPoint.before(op), location_of(operand)
    if not (sharding.mesh == copies.mesh and sharding.is_fully_replicated):
        operand = insert(ReshardOp(operand, copies), point, location).result
    return insert(ReshardOp(operand, alone), point, location).result


def _back_from_device(
    op: Operation,
    result: SSAValue,
    target: TensorSharding | None,
    copies: TensorSharding,
    last: Operation,
    meshes: MeshTable,
) -> Operation:
    """Reshard `result` to replicas, then to the sharding of its users; return the last inserted op."""
    steps: Sequence[TensorSharding] = [copies]
    if target is not None and target != copies and not is_on_single_device(target, meshes):
        steps = [copies, target]
    value = result
    for sharding in steps:
        new = insert(ReshardOp(value, sharding), InsertPoint.after(last), op.location)
        redirect_other_uses(value, new.result)
        value, last = new.result, new
    return last
