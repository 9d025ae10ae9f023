"""Converts a local program to a JAX function, one `shard_map` around the StableHLO text, and shardings to JAX's.

The text has the form that XLA supports inside of a `shard_map`, and compiles well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.extend.mlir.dialects import stablehlo
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.attrs import DotDimensionNumbers, DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.calls import check_no_python_call
from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.interpreter.arrays.element_types import dtype_of_type
from sdy.model.axis import AxisList
from sdy.model.devices.common_mesh import names_on_split_mesh, split_mesh
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.partitioner.emit.emitter import Channels, Emitter, Style, with_shape
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.rewriting.device_counts import last_channel
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.run import run_passes


def module_for_xla(local: ModuleOp) -> ModuleOp:
    """Return a copy of a local program with the ops that XLA supports inside of a `shard_map`."""
    module = copy_with_regions(local)
    run_passes(make_context(), module, [ChloLegalizeToStablehloPass()], verify_each=False)
    channels = Channels(last_channel(module))
    for op in pre_order(module):
        if isinstance(op, CombinableOp) and len(op.result) > 1:
            _split(op, channels)
        elif isinstance(op, DotGeneralOp):
            _drop_single_batches(op)
    return module


def _split(op: CombinableOp, channels: Channels) -> None:
    """Replace a collective with several operands by one collective per operand, each on a separate channel.

    XLA does not support collectives with several operands inside of a `shard_map`: it uses the sharding of their tuple
    result for each of the results. XLA combines collectives again later.
    """
    for operand, result in zip(op.inputs, op.result, strict=True):
        properties = dict(op.properties)
        if op.channel_handle is not None:
            properties["channel_handle"] = channels.next_handle()
        single = type(op).create(
            operands=[operand],
            result_types=[result.type],
            properties=properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
        insert_before(op, single)
        replace_uses(result, single.results[0])
    erase(op)


def _drop_single_batches(op: DotGeneralOp) -> None:
    """Reshape the operands of a product so that no batching dim has one element, as where a device has one head.

    XLA on CPU drops such a dim as well, but then transposes the operands, which may take longer than the product.
    """
    numbers, sizes = op.dot_dimension_numbers.data, shape_of(op.lhs)
    batches = zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True)
    single = [(*dims, number) for number, dims in enumerate(batches) if sizes[dims[0]] == 1]
    if not single:
        return
    dropped = zip(*single, strict=True)
    left, right, result = map(_kept_dims, (op.lhs, op.rhs, op.result), dropped)
    dims_left = DotDimensionNumbers(
        _renumbered(numbers.lhs_batching_dimensions, left),
        _renumbered(numbers.rhs_batching_dimensions, right),
        _renumbered(numbers.lhs_contracting_dimensions, left),
        _renumbered(numbers.rhs_contracting_dimensions, right),
    )
    emit = Emitter(op, Style(), op.location)
    operands = [
        emit.reshape(value, [shape_of(value)[dim] for dim in kept]) for value, kept in ((op.lhs, left), (op.rhs, right))
    ]
    properties = {**op.properties, "dot_dimension_numbers": DotDimensionNumbersAttr(dims_left)}
    tensor = with_shape(op.result, [shape_of(op.result)[dim] for dim in result])
    product = emit.value(DotGeneralOp, operands, tensor, properties)
    replace_uses(op.result, emit.reshape(product, shape_of(op.result)))
    erase(op)


def _kept_dims(value: SSAValue, dropped: Collection[int]) -> list[int]:
    return [dim for dim in range(len(shape_of(value))) if dim not in dropped]


def _renumbered(dims: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    return tuple(kept.index(dim) for dim in dims if dim in kept)


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
    result_specs = [partition_spec(replace(placement.sharding, unreduced=()), digits) for placement in boundary.results]
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
            meshes = f"{boundary.mesh} and {placement.mesh}"
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
