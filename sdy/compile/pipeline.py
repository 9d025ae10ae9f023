"""A program of several meshes, compiled: the program of each fragment on its mesh, and the transfers between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp

from sdy.compile.compiled import Compiled, compiled
from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.symbols import MAIN, main_block, main_function
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.mpmd.dialect.functions import topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.execution.fragment_programs import Runs, fragment_program, lowered_to_calls
from sdy.mpmd.execution.mesh_layout import MeshLayout
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
    fragments = {
        name: compiled(program, Origin(origin.text, FlatSignature(), origin.source_lines), options)
        for name, program in programs.items()
    }
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
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    results = tuple(layout.placement(each) for each in end.operands)
    count = len({device for devices in layout.devices.values() for device in devices})
    boundary = ProgramPlacement(Mesh((MeshAxis("devices", count),)), arguments, results)
    remarks = tuple(remark for fragment in fragments.values() for remark in fragment.remarks)
    return CompiledPipeline(
        without_meshes(module), calls, local, boundary, origin, options, remarks, None, fragments, runs
    )
