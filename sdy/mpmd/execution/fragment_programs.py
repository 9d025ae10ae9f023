"""A program of several meshes as it runs: calls of fragments and transfers, and the program of one mesh for each call.

before  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: T) { abs %x }
        %2 = mpmd.transfer %1 : (M1) -> M2
after   %1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @p0_f.main(%0)     builtin.module @p0_f.main { func @main }
        %2 = mpmd.transfer %1 : (M1) -> M2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.symbols import MAIN, called_functions, functions_of, main_block, main_function
from sdy.dialects.ir.walk import ops_of, reached
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.shardings import SHARDING
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.reshard_plan import ReshardPlan, reshard_plan
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.mpmd.dialect.attrs import CPU_SUFFIX, TopologyAttr
from sdy.mpmd.dialect.functions import MESH_SHAPE, callee_of, failure, is_distributed, mesh_named, topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType, mesh_type
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, entries_of
from sdy.mpmd.execution.without_meshes import values_of
from sdy.mpmd.passes.pipelines import ShardingPropagationPipeline
from sdy.mpmd.passes.tools.fragments import info_of
from sdy.mpmd.schedules.fragment_info import FragmentInfo
from sdy.passes.manager.all import pass_class
from sdy.passes.rewriting.insertion import erase
from sdy.passes.run import run_passes


@dataclass(frozen=True)
class MeshLayout:
    """The meshes of a program, and the shardings of its values on them."""

    topology: TopologyAttr

    @cached_property
    def devices(self) -> dict[str, tuple[int, ...]]:
        """The devices of each mesh, in the order of the mesh: each mesh takes the next numbers.

        Only the mesh `X/cpu` has the devices of another one: it is the host of the mesh `X`.
        """
        found: dict[str, tuple[int, ...]] = {}
        first = 0
        for name, mesh in self.topology.data:
            if mesh.is_empty:
                continue  # stands for replicated values
            numbers = mesh.listed_devices() if mesh.axes else (0,)
            own = tuple(first + number for number in numbers)
            found[name] = found.get(name.removesuffix(CPU_SUFFIX), own) if name.endswith(CPU_SUFFIX) else own
            first = max(first, max(found[name]) + 1)
        return found

    def placement(self, value: SSAValue) -> TensorPlacement:
        """Return the sharding of a value on its mesh. Without one in the type, each device holds the full tensor."""
        found = mesh_type(value.type)
        mesh = self.topology.mesh(found.mesh)
        assert mesh is not None  # the types were verified
        sharding = found.sharding or fully_closed(found.mesh, found.get_num_dims())
        return TensorPlacement(found.get_shape(), sharding, mesh)

    def keeps_positions(self, transfer: TransferOp) -> bool:
        """Return whether each device sends its whole shard to the device at the same position of the other mesh."""
        source, target = self.placement(transfer.tensor), self.placement(transfer.result)
        same_sharding = replace(source.sharding, mesh="") == replace(target.sharding, mesh="")
        return source.mesh.axes == target.mesh.axes and same_sharding

    def plan(self, transfer: TransferOp) -> ReshardPlan:
        """Return the sends between devices that move a value. Raises: SdyError SDY-S080 if partial values differ."""
        source, target = (self._on_devices(value) for value in (transfer.tensor, transfer.result))
        try:
            return reshard_plan(source, target, transfer.source_type.get_shape())
        except SdyError as error:
            raise located(error, transfer) from error

    def _on_devices(self, value: SSAValue) -> TensorSharding:
        placement, name = self.placement(value), mesh_type(value.type).mesh
        return replace(placement.sharding, mesh=Mesh(placement.mesh.axes, self.devices[name]))


Runs = dict[FragmentCallOp, FragmentInfo]


def lowered_to_calls(module: ModuleOp) -> tuple[ModuleOp, Runs]:
    """Return a copy of a program whose main function only calls fragments and transfers values, in program order.

    Loops are unrolled, and calls of microbatches inlined. Where no type has a sharding, those of the attributes are
    propagated first. The second result has what is known of the fragment of each call.
    Raises: SdyError SDY-M401 if an op or a value is on no mesh.
    """
    copy = copy_with_regions(module)
    main = main_function(copy)
    main_block(copy)
    if topology_of(main) is None:
        message = f"@{main.sym_name.data} has values on meshes, but no topology that says which devices these have"
        raise failure(main, "SDY-M401", message)
    for loop in ops_of(copy, ForOp):
        loop.unroll_factor = loop.iterations
    _run(copy, "mpmd-unroll-for-loops", "mpmd-from-unroll-to-call-counter", "mpmd-call-inline", "symbol-dce")
    for op in ops_of(main, ConstantOp):
        if op.parent is main.body.block and not op.results[0].first_use:
            erase(op)  # the index of a loop
    _check_placed(main)
    if not _has_shardings(main):
        run_passes(make_context(), copy, [ShardingPropagationPipeline()], verify_each=False)
    infos = [info_of(op) if isinstance(op, FragmentOp) else _info_of_call(op) for op in _steps(main)]
    _run(copy, "mpmd-lower-to-fragment-calls")
    calls = [op for op in main.body.block.ops if isinstance(op, FragmentCallOp)]
    return copy, dict(zip(calls, infos, strict=True))


def _run(module: ModuleOp, *names: str) -> None:
    run_passes(make_context(), module, [pass_class(name)() for name in names], verify_each=False)


def _steps(main: FuncOp) -> list[FragmentOp | FragmentCallOp]:
    return [op for op in main.body.block.ops if isinstance(op, FragmentOp | FragmentCallOp)]


def _info_of_call(call: FragmentCallOp) -> FragmentInfo:
    return FragmentInfo(tuple(sorted(call.origins)), mesh=call.mesh)


def _check_placed(main: FuncOp) -> None:
    for op in main.body.block.ops:
        if not isinstance(op, FragmentOp | FragmentCallOp | TransferOp | ReturnOp):
            hint = "put it into a named computation, and run mpmd-import-pipeline"
            raise failure(op, "SDY-M401", f"{op.name} is on no mesh: it is not in a fragment", hint)
    for value in (*main.body.block.args, *(result for op in main.body.block.ops for result in op.results)):
        if not isinstance(value.type, MeshTensorType):
            message = f"a value of type {value.type} is on no mesh"
            owner = value.owner if isinstance(value.owner, Operation) else main
            raise failure(owner, "SDY-M401", message, "run mpmd-import-pipeline")


def _has_shardings(main: FuncOp) -> bool:
    is_exported = any(isinstance(op, FragmentCallOp) for op in main.body.block.ops)
    types = (value.type for op in (main, *main.body.block.ops) for value in values_of(op))
    return is_exported or any(isinstance(each, MeshTensorType) and each.sharding is not None for each in types)


def fragment_program(module: ModuleOp, call: FragmentCallOp) -> ModuleOp:
    """Return the program of the function that a call runs: `@main`, on one mesh, and the functions that it calls.

    All its arguments and results have the shardings of the types of the call; in its body, shardings are on the same
    mesh. Raises: SdyError if one is on a mesh with other axes.
    """
    mesh = mesh_named(call, call.mesh)
    program = ModuleOp([], sym_name=StringAttr(call.callee_name))
    program.location = call.location
    names = _mesh_names(module, call, mesh)
    for name in names:
        declaration = MeshOp(name, mesh)
        declaration.location = call.location
        program.body.block.add_op(declaration)
    func = callee_of(call, call.callee_name)
    copy = copy_with_regions(func)
    assert isinstance(copy, FuncOp)
    copy.sym_name = StringAttr(MAIN)
    copy.sym_visibility = StringAttr("public")
    copy.attributes.pop(MESH_SHAPE, None)
    copy.arg_attrs = _closed(copy, ARG_ATTRS, list(call.operand_types), names[0])
    copy.res_attrs = _closed(copy, RES_ATTRS, list(call.result_types), names[0])
    program.body.block.add_op(copy)
    for other in _called_by(module, func):
        program.body.block.add_op(copy_with_regions(other))
    verify_module(program)
    return program


def _mesh_names(module: ModuleOp, call: FragmentCallOp, mesh: Mesh) -> list[str]:
    """Return the names under which shardings of a fragment may refer to its mesh; axes of size 1 do not count."""
    declared = meshes_of(module)
    types = (mesh_type(each) for each in (*call.operand_types, *call.result_types))
    used = (each.sharding.mesh for each in types if each.sharding is not None)
    undeclared = dict.fromkeys(name for name in used if isinstance(name, str) and name not in declared)
    return [*(name for name, each in declared.items() if _axes(each) == _axes(mesh)), *undeclared] or [call.mesh]


def _axes(mesh: Mesh) -> list[tuple[str, int]]:
    return [(axis.name, axis.size) for axis in mesh.axes if axis.size > 1]


def _closed(func: FuncOp, name: str, types: Sequence[Attribute], mesh: str) -> ArrayAttr[DictionaryAttr]:
    """Return the attributes of arguments or results, each with a closed sharding."""
    entries = entries_of(func, name)
    for entry, value_type in zip(entries, types, strict=True):
        found = mesh_type(value_type)
        sharding = found.sharding or fully_closed(mesh, found.get_num_dims())
        entry[SHARDING] = TensorShardingAttr(replace(sharding, mesh=mesh))
    return ArrayAttr(map(DictionaryAttr, entries))


def _called_by(module: ModuleOp, func: FuncOp) -> list[FuncOp]:
    functions = {name: func for name, func in functions_of(module).items() if not is_distributed(func)}
    _, *called = reached([func], lambda caller: called_functions(caller, functions))
    return called
