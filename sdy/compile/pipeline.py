"""A program of several meshes, compiled: the program of each fragment on its mesh, and the transfers between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from sdy.compile.compiled import Compiled, compiled
from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.symbols import MAIN, main_block, main_function
from sdy.jax.optional_jax import all_devices, named_shardings, put, transferred
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.mpmd.dialect.functions import topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.types import mesh_type
from sdy.mpmd.execution.fragment_programs import MeshLayout, Runs, fragment_program, lowered_to_calls
from sdy.mpmd.execution.without_meshes import without_meshes

if TYPE_CHECKING:
    from sdy.interpreter.arrays.element_types import Array
    from sdy.interpreter.devices.values import DeviceArray
    from sdy.interpreter.run import RunSettings

R = TypeVar("R", default="list[Array]")


@dataclass(frozen=True)
class CompiledPipeline(Compiled[R]):
    """A program of several meshes in which all communication is explicit.

    `written` is the program without meshes. `folded` has the calls of fragments and the transfers in program order, on
    global tensors. `local` has the same main function, and a module for each fragment, which the devices of its mesh
    run. `fragments` has the same programs by name, each compiled on its own. `runs` says of each call in `folded` which
    computations, stage and microbatch it is. `mesh` has all devices on one axis.
    """

    fragments: Mapping[str, Compiled] = field(default_factory=dict[str, Compiled])
    runs: Runs = field(default_factory=Runs)

    @cached_property
    def layout(self) -> MeshLayout:
        """The devices of the meshes, and the shardings of the values of the main function."""
        return layout_of(self.local)

    def run_on_devices(self, inputs: Sequence[Array], settings: RunSettings | None = None) -> list[DeviceArray]:
        """Run the fragments and the transfers between their meshes; return the shards of the results."""
        from sdy.interpreter.devices.shards import shard
        from sdy.interpreter.run import RunSettings
        from sdy.mpmd.execution.device_run import DeviceRun

        pairs = zip(inputs, self.boundary.arguments, strict=True)
        shards = [shard(array, placement.sharding, placement.mesh) for array, placement in pairs]
        given = settings or RunSettings()
        given = replace(given, host=given.host or self.origin.host())
        modules = (op for op in self.local.ops if isinstance(op, ModuleOp) and op.sym_name is not None)
        programs = {op.sym_name.data: (op, self.fragments[op.sym_name.data].mesh) for op in modules if op.sym_name}
        return DeviceRun(self.layout, programs, given).results(main_block(self.local), shards)

    def to_jax(self, devices: Sequence[object] = ()) -> Callable[..., R]:
        """Return a function that runs each fragment on the JAX devices of its mesh, and moves values between meshes.

        `devices` are those of all meshes, in order; several processes may have them, which all call the function.
        Raises: SdyError as `Compiled.to_jax`; then as `sdy.jax.to_devices.transfer.transferred`.
        """
        given = devices or self.origin.devices or all_devices()
        by_mesh = {name: [given[number] for number in each] for name, each in self.layout.devices.items()}
        calls = {call.callee_name: self.fragments[call.callee_name].to_jax(by_mesh[call.mesh]) for call in self.runs}
        block = main_block(self.folded)

        def sharding(value: SSAValue) -> object:
            return named_shardings([self.layout.placement(value)], by_mesh[mesh_type(value.type).mesh], {})[0]

        moved = [op.result for op in self.transfers()]
        shardings = {value: sharding(value) for value in (*block.args, *moved)}

        def flat(*arrays: object) -> Sequence[object]:
            values: dict[SSAValue, object] = {}
            for argument, array in zip(block.args, arrays, strict=True):
                values[argument] = put(array, shardings[argument])
            for op in block.ops:
                if isinstance(op, FragmentCallOp):
                    results = calls[op.callee_name](*(values[operand] for operand in op.operands))
                    values |= zip(op.results, results, strict=True)
                elif isinstance(op, TransferOp):
                    values[op.result] = transferred(values[op.tensor], shardings[op.result])
            return [values[operand] for operand in terminator_of(main_function(self.folded).body).operands]

        return self.origin.signature.on_devices(flat)

    def counts(self) -> Counter[str]:
        """Return how often each fragment runs."""
        ops = main_block(self.folded).ops
        return Counter(op.callee_name for op in ops if isinstance(op, FragmentCallOp))

    def transfers(self) -> list[TransferOp]:
        """Return the transfers, in program order."""
        return [op for op in main_block(self.folded).ops if isinstance(op, TransferOp)]


def layout_of(module: ModuleOp) -> MeshLayout:
    """Return the layout of the meshes of a program whose main function has a topology."""
    topology = topology_of(main_function(module))
    assert topology is not None  # it was checked
    return MeshLayout(topology)


def compiled_pipeline(module: ModuleOp, origin: Origin[R], options: CompileOptions = DEFAULT) -> CompiledPipeline[R]:
    """Partition each fragment of a program of several meshes, at any stage of its compilation after the import.

    Raises: SdyError SDY-M401 if a value is on no mesh; or at the first op of a fragment that is unsupported.
    """
    calls, runs = lowered_to_calls(module)
    main = main_function(calls)
    layout = layout_of(calls)
    programs: dict[str, ModuleOp] = {}
    for call in runs:
        if call.callee_name not in programs:
            programs[call.callee_name] = fragment_program(calls, call)
    placed = Origin(origin.text, FlatSignature(), origin.source_lines, scopes=origin.scopes)
    fragments = {name: compiled(program, placed, options) for name, program in programs.items()}
    local = ModuleOp([])
    local.location = calls.location
    main_copy = copy_with_regions(main)
    main_copy.sym_name = StringAttr(MAIN)
    local.body.block.add_op(main_copy)
    for name, fragment in fragments.items():
        nested = copy_with_regions(fragment.local)
        nested.sym_name = StringAttr(name)
        local.body.block.add_op(nested)
    arguments = tuple(layout.placement(each) for each in main.body.block.args)
    results = tuple(layout.placement(each) for each in terminator_of(main.body).operands)
    count = len({device for devices in layout.devices.values() for device in devices})
    boundary = ProgramPlacement(Mesh((MeshAxis("devices", count),)), arguments, results)
    remarks = tuple(remark for fragment in fragments.values() for remark in fragment.remarks)
    return CompiledPipeline(
        without_meshes(module), calls, local, boundary, origin, options, remarks, fragments=fragments, runs=runs
    )
