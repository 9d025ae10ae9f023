"""Converts a local program to a JAX function, one `shard_map` around the StableHLO text, and shardings to JAX's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.extend.mlir.dialects import stablehlo
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import print_module
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import check_no_python_call
from sdy.grammar.write import write_mesh
from sdy.interpreter.arrays.element_types import dtype_of_type
from sdy.jax.to_devices.xla_module import module_for_xla
from sdy.model.axis import AxisList
from sdy.model.devices.common_mesh import names_on_split_mesh, split_mesh
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import ReductionKind, TensorSharding

FlatFunction = Callable[..., list[jax.Array]]
_REDUCTIONS: dict[ReductionKind, Callable[[jax.Array, tuple[str, ...]], jax.Array]] = {
    ReductionKind.SUM: lax.psum,
    ReductionKind.MAX: lax.pmax,
    ReductionKind.MIN: lax.pmin,
}


def function_on_devices(local: ModuleOp, boundary: ProgramPlacement, devices: Sequence[object]) -> FlatFunction:
    """Return a function from flat global arguments to flat global results; unreduced results are reduced.

    The local program must number devices by their position in the mesh.
    Raises: SdyError SDY-X104 if the program does not match the devices, SDY-X105 if it requires 64-bit types that are
    disabled in JAX, SDY-X109 if it has a custom call whose Python functions its text does not contain; SDY-X114 if the
    function is differentiated or batched.
    """
    check_no_python_call(local, "to_jax")
    mesh = only_mesh(boundary)
    placements = (*boundary.arguments, *boundary.results)
    split, digits = split_mesh(mesh, [ref for placement in placements for ref in placement.sharding.axis_refs()])
    local_function = _function_of_text(local)

    def on_each_device(*shards: jax.Array) -> list[jax.Array]:
        results = zip(local_function(*shards), boundary.results, strict=True)
        return [_reduced(result, placement.sharding, digits) for result, placement in results]

    mesh_of_devices = jax_mesh(split, devices)
    result_specs = [partition_spec(_without_unreduced(placement.sharding), digits) for placement in boundary.results]
    mapped = jax.shard_map(
        on_each_device,
        mesh=mesh_of_devices,
        in_specs=tuple(partition_spec(placement.sharding, digits) for placement in boundary.arguments),
        out_specs=result_specs,
        check_vma=False,  # JAX cannot infer from the text of the program which values are equal on several devices
    )
    jitted = cast(FlatFunction, jax.jit(mapped))

    def on_all_devices(*arrays: jax.Array) -> list[jax.Array]:
        explicit = _explicit_mesh(arrays, mesh_of_devices)
        with jax.sharding.use_abstract_mesh(explicit or mesh_of_devices.abstract_mesh):
            if explicit is None:
                return jitted(*arrays)
            with_auto_axes = cast(FlatFunction, jax.sharding.auto_axes(jitted, out_sharding=result_specs))
            return with_auto_axes(*arrays)

    return _without_transformations(on_all_devices)


def _explicit_mesh(arrays: Sequence[jax.Array], mesh: jax.sharding.Mesh) -> AbstractMesh | None:
    """Return the mesh with explicit axes that the caller uses, if it has the axes of `mesh`.

    It is in force, or that of an argument. Its axes are not explicit inside of a partitioned program.
    """
    of_arrays = (jax.typeof(array).sharding.mesh for array in arrays)
    meshes = (each for each in (jax.sharding.get_abstract_mesh(), *of_arrays) if AxisType.Explicit in each.axis_types)
    return next((each for each in meshes if dict(each.shape) == dict(mesh.shape)), None)


def _without_transformations(function: FlatFunction) -> FlatFunction:
    """Return a function for which `jax.grad`, `jax.jvp` and `jax.vmap` raise SDY-X114.

    JAX would use the derivatives of the placeholder, which are zero.
    """
    unbatched = jax.custom_batching.custom_vmap(function)
    unbatched.def_vmap(_reject_batching)
    primal = jax.custom_jvp(unbatched)
    primal.defjvp(_reject_derivatives)
    return primal


def _reject_derivatives(primals: object, tangents: object) -> NoReturn:
    hint = "differentiate the original function, and partition the gradient: sdy.from_jax(jax.grad(f), ...)"
    raise SdyError(Diagnostic("SDY-X114", "a partitioned program cannot be differentiated", hint=hint))


def _reject_batching(axis_size: int, in_batched: object, *arrays: object) -> NoReturn:
    hint = "batch the original function, and partition the result: sdy.from_jax(jax.vmap(f), ...)"
    raise SdyError(Diagnostic("SDY-X114", "a partitioned program cannot be batched by jax.vmap", hint=hint))


def only_mesh(boundary: ProgramPlacement) -> Mesh:
    """Return the mesh of all arguments and results. Raises: SdyError SDY-X104 if they are on several meshes."""
    for placement in (*boundary.arguments, *boundary.results):
        if placement.mesh != boundary.mesh:
            meshes = f"{write_mesh(boundary.mesh)} and {write_mesh(placement.mesh)}"
            message = f"a program for JAX must be on one mesh, got {meshes}"
            raise SdyError(Diagnostic("SDY-X104", message, hint="use one mesh in all shardings"))
    return boundary.mesh if boundary.mesh.axes else Mesh((MeshAxis("device", 1),))


def _function_of_text(local: ModuleOp) -> FlatFunction:
    """Return the local program as a function of shards: an exported placeholder whose text is replaced."""
    module = module_for_xla(local)
    types = main_function(module).function_type
    inputs, outputs = map(_shape_dtype, types.inputs), list(map(_shape_dtype, types.outputs))

    def placeholder(*_: jax.Array) -> list[jax.Array]:
        return [jnp.zeros(each.shape, each.dtype) for each in outputs]

    with jax.sharding.use_abstract_mesh(AbstractMesh((), ())):  # shards have no explicit axes of the caller's mesh
        exported = export.export(jax.jit(placeholder, keep_unused=True))(*inputs)
    artifact = stablehlo.serialize_portable_artifact_str(print_module(module), stablehlo.get_current_version())
    return cast(FlatFunction, replace(exported, mlir_module_serialized=artifact).call)


def _shape_dtype(tensor: Attribute) -> jax.ShapeDtypeStruct:
    dtype = dtype_of_type(tensor)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        message = f"an argument or result of the program has the type {tensor}, but 64-bit types are disabled in JAX"
        raise SdyError(Diagnostic("SDY-X105", message, hint='jax.config.update("jax_enable_x64", True)'))
    return jax.ShapeDtypeStruct(static_shape(tensor) or (), dtype)


def _reduced(result: jax.Array, sharding: TensorSharding, digits: AxisList) -> jax.Array:
    names = tuple(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return _REDUCTIONS[sharding.unreduced_kind](result, names) if names else result


def _without_unreduced(sharding: TensorSharding) -> TensorSharding:
    return replace(sharding, unreduced=())


def named_sharding(
    placement: TensorPlacement, devices: Sequence[object], axis_types: Mapping[str, object]
) -> NamedSharding:
    """Return the sharding on a mesh of `devices`, or on an abstract mesh if there are none.

    Only axes with sub-axes in the sharding are split. `axis_types` maps axis names to JAX axis types. Axes along
    which the value is unreduced are always explicit, as JAX requires.
    Raises: SdyError SDY-X104 if there are too few devices.
    """
    mesh, digits = split_mesh(placement.mesh, placement.sharding.axis_refs())
    spec = partition_spec(placement.sharding, digits)
    names, sizes = _names(mesh), tuple(axis.size for axis in mesh.axes)
    types = tuple(_type(name, spec, axis_types) for name in names)
    if not devices:
        return NamedSharding(AbstractMesh(sizes, names, axis_types=types), spec)
    return NamedSharding(jax.sharding.Mesh(_device_array(mesh, devices), names, axis_types=types), spec)


def partition_spec(sharding: TensorSharding, digits: AxisList) -> PartitionSpec:
    """Return the spec on a split mesh with the axes `digits`, without trailing unsharded dims."""
    dims = [tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in sharding.dims]
    while dims and not dims[-1]:
        dims.pop()
    entries = [None if not names else names[0] if len(names) == 1 else names for names in dims]
    unreduced = frozenset(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return PartitionSpec(*entries, unreduced=unreduced)


def jax_mesh(mesh: Mesh, devices: Sequence[object]) -> jax.sharding.Mesh:
    """Return the JAX mesh of `devices`, or of the first JAX devices if `devices` is empty.

    Raises: SdyError SDY-X104 if there are too few devices.
    """
    return jax.sharding.Mesh(_device_array(mesh, devices or cast(Sequence[object], jax.devices())), _names(mesh))


def _type(name: str, spec: PartitionSpec, axis_types: Mapping[str, object]) -> AxisType:
    known = axis_types.get(name)
    if name in spec.unreduced or not isinstance(known, AxisType):
        return AxisType.Explicit if name in spec.unreduced else AxisType.Auto
    return known


def _names(mesh: Mesh) -> tuple[str, ...]:
    return tuple(axis.name for axis in mesh.axes)


def _device_array(mesh: Mesh, devices: Sequence[object]) -> np.ndarray:
    """Return the devices in the shape of the mesh, with `devices[n]` at the position of device id `n`."""
    numbers = mesh.devices()
    if max(numbers) >= len(devices):
        message = f"expected {mesh.device_count} devices for the program, got {len(devices)} from JAX"
        hint = "set XLA_FLAGS=--xla_force_host_platform_device_count=N to simulate N devices on a CPU"
        raise SdyError(Diagnostic("SDY-X104", message, hint=hint))
    array = np.array([devices[number] for number in numbers], dtype=object)
    return array.reshape([axis.size for axis in mesh.axes])
