"""Programs whose arguments and results have shardings, and how to read those shardings from a module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.verification.verify_module import verify_module
from sdy.jax.optional_jax import named_shardings
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.html_repr import HtmlRepr
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.passes.run import run_passes

if TYPE_CHECKING:
    from sdy.interpreter.arrays.element_types import Array

R = TypeVar("R", default="list[Array]")
ONE_DEVICE = Mesh(())


class ShardedBoundary(HtmlRepr, Generic[R]):
    """Base class of what has known shardings of arguments and results."""

    boundary: ProgramPlacement
    origin: Origin[R]

    def input_shardings(self, devices: Sequence[object] = ()) -> object:
        """Return the JAX `NamedSharding` of each argument, in the structure of the arguments.

        The shardings are on `devices` if given; otherwise on the devices of the JAX function that the program was
        lowered from; otherwise on an abstract mesh.
        Raises: SdyError SDY-X104 if there are too few devices, SDY-T205 if JAX is not installed.
        """
        origin = self.origin
        shardings = named_shardings(self.boundary.arguments, devices or origin.devices, origin.axis_types)
        return origin.signature.argument_tree(shardings)

    def output_shardings(self, devices: Sequence[object] = ()) -> object:
        """Return the JAX `NamedSharding` of each result, in the structure of the results; see `input_shardings`."""
        origin = self.origin
        shardings = named_shardings(self.boundary.results, devices or origin.devices, origin.axis_types)
        return origin.signature.result_tree(shardings)


@dataclass(frozen=True)
class PropagatedProgram(ShardedBoundary[R]):
    """A program after propagation: every value has a closed sharding, and all tensors have their global shapes."""

    module: ModuleOp
    boundary: ProgramPlacement
    origin: Origin[R]

    def __repr__(self) -> str:
        """Return one line: the main function with the number of its arguments and results, and the meshes."""
        return f"PropagatedProgram({summary(self.module)})"

    def __str__(self) -> str:
        """Return the text of the module."""
        return print_module(self.module)


@garbage_collection_paused()
def propagated_program(module: ModuleOp, origin: Origin[R], options: CompileOptions = DEFAULT) -> PropagatedProgram[R]:
    """Propagate the shardings of a copy of a module. Raises: SdyError if propagation does not support it."""
    copy = copy_with_regions(module)
    with origin.named_lines():
        run_passes(make_context(), copy, options.shows_propagation(), verify_each=False)
        verify_module(copy)
    return PropagatedProgram(copy, boundary_of(copy), origin)


def summary(module: ModuleOp) -> str:
    """Return one line about a module: `@main, 3 arguments, 1 result, mesh "data"=4 "model"=2`."""
    func = main_function(module)
    counts = (("argument", len(func.function_type.inputs)), ("result", len(func.function_type.outputs)))
    sizes = (f"{count} {name}" if count == 1 else f"{count} {name}s" for name, count in counts)
    meshes = {" ".join(f'"{axis.name}"={axis.size}' for axis in mesh.axes) for mesh in meshes_of(module).values()}
    return ", ".join((f"@{func.sym_name.data}", *sizes, *(f"mesh {mesh}" for mesh in sorted(meshes - {""}))))


def _candidates(module: ModuleOp, meshes: MeshTable) -> list[tuple[str, Mesh]]:
    """Return the meshes with axes, those that shardings use first."""
    found = [(name, mesh) for name, mesh in meshes.items() if mesh.axes]
    if len(found) < 2:
        return found
    ops = pre_order(module)
    blocks = (block for op in ops for region in op.regions for block in region.blocks)
    values = chain((value for block in blocks for value in block.args), *(op.results for op in ops))
    used = {sharding.mesh for value in values if (sharding := sharding_of(value)) is not None}
    return sorted(found, key=lambda each: each[0] not in used)


def boundary_of(module: ModuleOp) -> ProgramPlacement:
    """Return the shardings of the arguments and results of the main function.

    The tensors of the module must have their global shapes. The program runs on the first mesh with axes that a
    sharding uses, or else on the first one with axes. Values without a sharding are replicated over it.
    """
    meshes = meshes_of(module)
    name, mesh = next(iter(_candidates(module, meshes)), ("", ONE_DEVICE))
    func = main_function(module)

    def placement(shape: tuple[int, ...] | None, sharding: TensorSharding | None) -> TensorPlacement:
        dims = shape or ()
        value_mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        # A sharding on a mesh without axes is treated like a missing one.
        if sharding is None or value_mesh is None or value_mesh == ONE_DEVICE:
            return TensorPlacement(dims, fully_closed(name or mesh, len(dims)), mesh)
        return TensorPlacement(dims, sharding, value_mesh)

    types = func.function_type
    return ProgramPlacement(
        mesh,
        tuple(placement(static_shape(each), argument_sharding(func, index)) for index, each in enumerate(types.inputs)),
        tuple(
            placement(static_shape(each), function_result_sharding(func, index))
            for index, each in enumerate(types.outputs)
        ),
    )
