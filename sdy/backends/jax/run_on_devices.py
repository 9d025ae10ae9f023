"""Makes of a local program a function that JAX runs on its devices: one `shard_map` around the StableHLO text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import jax
import jax.numpy as jnp
from jax import export, lax
from jax.extend.mlir.dialects import stablehlo
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from sdy.backends.jax.named_shardings import jax_mesh, partition_spec
from sdy.backends.jax.one_operand import take_apart
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.sharded_types import static_shape
from sdy.grammar.write import write_mesh
from sdy.interpreter.arrays.element_types import dtype_of_type
from sdy.model.axis import AxisList
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.devices.split_mesh import names_on_split_mesh, split_mesh
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.run import run_passes

FlatFunction = Callable[..., list[jax.Array]]
_REDUCTIONS: dict[ReductionKind, Callable[[jax.Array, tuple[str, ...]], jax.Array]] = {
    ReductionKind.SUM: lax.psum,
    ReductionKind.MAX: lax.pmax,
    ReductionKind.MIN: lax.pmin,
}


def function_on_devices(local: ModuleOp, boundary: ProgramPlacement, devices: Sequence[object]) -> FlatFunction:
    """From whole arguments in a row to whole results in a row; results that are unreduced are reduced.

    The program numbers devices by their place in the mesh.
    Raises: SdyError SDY-X104 where the program does not fit the devices, SDY-X105 where it needs 64 bits that JAX has
    turned off.
    """
    mesh = _only_mesh(boundary)
    places = (*boundary.arguments, *boundary.results)
    split, digits = split_mesh(mesh, [ref for place in places for ref in place.sharding.axis_refs()])
    on_one = _function_of_text(local)

    def on_each(*shards: jax.Array) -> list[jax.Array]:
        results = zip(on_one(*shards), boundary.results, strict=True)
        return [_reduced(result, place.sharding, digits) for result, place in results]

    on_mesh = jax_mesh(split, devices)
    mapped = jax.shard_map(
        on_each,
        mesh=on_mesh,
        in_specs=tuple(partition_spec(place.sharding, digits) for place in boundary.arguments),
        out_specs=[partition_spec(_without_unreduced(place.sharding), digits) for place in boundary.results],
        check_vma=False,  # types say nothing about what devices share once the program is text
    )
    jitted = cast(FlatFunction, jax.jit(mapped))

    def on_all(*arrays: jax.Array) -> list[jax.Array]:
        # The caller may be in a mesh whose axes are explicit, which are of no use to a program that is partitioned.
        with jax.sharding.use_abstract_mesh(on_mesh.abstract_mesh):
            return jitted(*arrays)

    return on_all


def _only_mesh(boundary: ProgramPlacement) -> Mesh:
    """The mesh of all values. Raises: SdyError SDY-X104 where there are several."""
    for place in (*boundary.arguments, *boundary.results):
        if place.mesh != boundary.mesh:
            message = (
                f"JAX runs a program on one mesh, this one has {write_mesh(boundary.mesh)} and {write_mesh(place.mesh)}"
            )
            raise SdyError(Diagnostic("SDY-X104", message, hint="write the shardings in terms of one mesh"))
    return boundary.mesh if boundary.mesh.axes else Mesh((MeshAxis("device", 1),))


def _function_of_text(local: ModuleOp) -> FlatFunction:
    """The local program as a function of shards: an exported function whose text is replaced by ours."""
    module = local.clone()
    run_passes(make_context(), module, [ChloLegalizeToStablehloPass()], verify_each=False)
    take_apart(module)
    types = main_function(module).function_type
    inputs, outputs = map(_described, types.inputs), list(map(_described, types.outputs))

    def placeholder(*_: jax.Array) -> list[jax.Array]:
        return [jnp.zeros(each.shape, each.dtype) for each in outputs]

    exported = export.export(jax.jit(placeholder, keep_unused=True))(*inputs)
    artifact = stablehlo.serialize_portable_artifact_str(print_module(module), stablehlo.get_current_version())
    return cast(FlatFunction, replace(exported, mlir_module_serialized=artifact).call)


def _described(tensor: Attribute) -> jax.ShapeDtypeStruct:
    dtype = dtype_of_type(tensor)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        message = f"a value at the boundary of the program is a {tensor}, and JAX computes with 32 bits"
        raise SdyError(Diagnostic("SDY-X105", message, hint='jax.config.update("jax_enable_x64", True)'))
    return jax.ShapeDtypeStruct(static_shape(tensor) or (), dtype)


def _reduced(result: jax.Array, sharding: TensorSharding, digits: AxisList) -> jax.Array:
    names = tuple(name for ref in sharding.unreduced for name in names_on_split_mesh(ref, digits))
    return _REDUCTIONS[sharding.unreduced_kind](result, names) if names else result


def _without_unreduced(sharding: TensorSharding) -> TensorSharding:
    return replace(sharding, unreduced=())
