"""How the values at the boundary of a program lie on the devices."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.dialects.symbols import main_function
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed

ONE_DEVICE = Mesh(())


@dataclass(frozen=True, slots=True)
class Placement:
    """A tensor's whole shape, and its sharding on a mesh; replicated where the program says nothing."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    mesh: Mesh


@dataclass(frozen=True, slots=True)
class Boundary:
    """The arguments and results of the main function, and the mesh that it runs on."""

    mesh: Mesh
    arguments: tuple[Placement, ...]
    results: tuple[Placement, ...]


def boundary_of(module: ModuleOp) -> Boundary:
    """The boundary of a partitioned program that still has whole tensors."""
    meshes = meshes_of(module)
    name, mesh = next(((name, mesh) for name, mesh in meshes.items() if mesh.axes), ("", ONE_DEVICE))
    func = main_function(module)

    def placed(shape: tuple[int, ...] | None, sharding: TensorSharding | None) -> Placement:
        dims = shape or ()
        sharding = sharding or fully_closed(name or mesh, len(dims))
        on = meshes.get(sharding.mesh, mesh) if isinstance(sharding.mesh, str) else sharding.mesh
        return Placement(dims, sharding, on)

    types = func.function_type
    return Boundary(
        mesh,
        tuple(placed(static_shape(each), argument_sharding(func, index)) for index, each in enumerate(types.inputs)),
        tuple(
            placed(static_shape(each), function_result_sharding(func, index))
            for index, each in enumerate(types.outputs)
        ),
    )
