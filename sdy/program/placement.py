"""Reads from a partitioned module how the values at its boundary lie on the devices."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed

ONE_DEVICE = Mesh(())


def boundary_of(module: ModuleOp) -> ProgramPlacement:
    """The boundary of a partitioned program that still has whole tensors."""
    meshes = meshes_of(module)
    name, mesh = next(((name, mesh) for name, mesh in meshes.items() if mesh.axes), ("", ONE_DEVICE))
    func = main_function(module)

    def placed(shape: tuple[int, ...] | None, sharding: TensorSharding | None) -> TensorPlacement:
        dims = shape or ()
        on = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or on is None or on == ONE_DEVICE:  # a mesh without axes says as little as none
            return TensorPlacement(dims, fully_closed(name or mesh, len(dims)), mesh)
        return TensorPlacement(dims, sharding, on)

    types = func.function_type
    return ProgramPlacement(
        mesh,
        tuple(placed(static_shape(each), argument_sharding(func, index)) for index, each in enumerate(types.inputs)),
        tuple(
            placed(static_shape(each), function_result_sharding(func, index))
            for index, each in enumerate(types.outputs)
        ),
    )
