"""Replaces the module of a function that JAX has lowered by the program of one device.

    before  func @main(%x: tensor<8xf32> {<@mesh, [{"x"}]>}) -> ... { ops on global shapes }
    after   func @main(%x: tensor<8xf32> {<@mesh, [{"x"}]>}) -> ... { sdy.manual_computation: call @on_device }

All that JAX knows about the call stays: structures, donated and unused arguments, callbacks, devices. XLA has nothing
left to partition, as in a `jax.shard_map`.
"""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Any, cast

import jax
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import set_argument_sharding, set_function_result_sharding
from sdy.jax.to_devices.run_on_devices import only_mesh
from sdy.jax.to_devices.xla_module import module_for_xla
from sdy.model.axis import AxisList, AxisRef
from sdy.model.devices.common_mesh import names_on_split_mesh, split_mesh
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.sharding import DimSharding, TensorSharding

_MLIR: Any = import_module("jaxlib.mlir.ir")  # a part of jaxlib without type stubs
_MESH = "mesh"


def with_local_program(lowered: jax.stages.Lowered, local: ModuleOp, boundary: ProgramPlacement) -> jax.stages.Lowered:
    """Return a copy of a lowered call that runs the local program of its module, whose placement is `boundary`.

    Raises: SdyError SDY-X104 if the program is on several meshes, SDY-X115 if a result is unreduced.
    """
    whole: Any = copy(lowered)  # JAX caches the lowering, and shares it with other functions
    lowering: Any = copy(whole._lowering)
    with lowering._hlo.context:
        lowering._hlo = _MLIR.Module.parse(print_module(on_global_shapes(local, boundary)))
    lowering._executable = None
    whole._lowering = lowering
    return whole


def on_global_shapes(local: ModuleOp, boundary: ProgramPlacement) -> ModuleOp:
    """Return a module on global shapes whose main function runs `local` on each device. Raises: as above."""
    module = module_for_xla(local)
    mesh = only_mesh(boundary)
    placements = (*boundary.arguments, *boundary.results)
    split, digits = split_mesh(mesh, [ref for placement in placements for ref in placement.sharding.axis_refs()])
    ins = tuple(_on_split_mesh(placement, digits) for placement in boundary.arguments)
    outs = tuple(_on_split_mesh(placement, digits) for placement in boundary.results)

    on_device = main_function(module)
    types = on_device.function_type
    global_types = [_global_type(*each) for each in zip(types.inputs, boundary.arguments, strict=True)]
    result_types = [_global_type(*each) for each in zip(types.outputs, boundary.results, strict=True)]
    main = FuncOp(on_device.sym_name.data, (global_types, result_types), visibility="public")
    main.arg_attrs, main.res_attrs = on_device.arg_attrs, on_device.res_attrs
    on_device.arg_attrs = on_device.res_attrs = None
    on_device.sym_visibility = StringAttr("private")
    on_device.sym_name = StringAttr(_unused_name(module))

    shards = Block(arg_types=types.inputs.data)
    call = CallOp(on_device.sym_name.data, shards.args, types.outputs.data)
    shards.add_ops((call, SdyReturnOp.create(operands=call.results)))
    axes = tuple(axis.name for axis in split.axes)
    manual = ManualComputationOp(main.body.block.args, ins, outs, axes, Region(shards), result_types)
    main.body.block.add_ops((manual, ReturnOp(*manual.results)))
    for index, sharding in enumerate(ins):
        set_argument_sharding(main, index, sharding)
    for index, sharding in enumerate(outs):
        set_function_result_sharding(main, index, sharding)
    module.body.block.add_ops((MeshOp(_MESH, split), main))
    return module


def _on_split_mesh(placement: TensorPlacement, digits: AxisList) -> TensorSharding:
    """Return the sharding on the mesh whose axes are split so that no sub-axes are left, as JAX requires."""
    if placement.sharding.unreduced:
        message = f"a result is unreduced: {placement.sharding}"
        raise SdyError(Diagnostic("SDY-X115", message, hint="reduce it in the function, or use jax.jit"))
    dims = (
        tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in placement.sharding.dims
    )
    return TensorSharding(_MESH, tuple(DimSharding(tuple(map(AxisRef, names))) for names in dims))


def _global_type(local: Attribute, placement: TensorPlacement) -> Attribute:
    return TensorType(cast("TensorType[Attribute]", local).element_type, placement.shape)


def _unused_name(module: ModuleOp) -> str:
    names = functions_of(module)
    name = "on_device"
    while name in names:
        name += "_"
    return name
