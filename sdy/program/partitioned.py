"""A partitioned program: its global and its local module, how to run it, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.cost.quantities import byte_count
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, with_sources
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.failure import out_of_memory
from sdy.model.devices.placement import ProgramPlacement
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.manager.partition_pipelines import PartitionPipeline
from sdy.passes.run import run_passes
from sdy.program import on_demand
from sdy.program.local_program import local_program, local_program_by_position
from sdy.program.optional_jax import jax_function
from sdy.program.origin import Origin
from sdy.program.sharded_program import ShardedProgram, boundary_of, summary

if TYPE_CHECKING:
    from sdy.cost.hardware import Hardware
    from sdy.cost.program_cost import ProgramCost
    from sdy.interpreter.arrays.element_types import Array
    from sdy.interpreter.devices.values import DeviceArray
    from sdy.interpreter.executor import OpObserver
    from sdy.report.explain import Explainer
    from sdy.report.reported_program import ReportedProgram

R = TypeVar("R", default="list[Array]")


@dataclass(frozen=True)
class PartitionedProgram(ShardedProgram[R]):
    """A program in which all communication is explicit.

    `folded` is the module on global shapes, with shardings and sdy collectives, in which one function stands for
    all repetitions of a layer. `local` is the plain StableHLO module that each device runs.
    """

    folded: ModuleOp
    local: ModuleOp
    boundary: ProgramPlacement
    origin: Origin[R]
    remarks: tuple[Diagnostic, ...] = ()
    optimize_communication: bool = True  # whether the program was partitioned with this option

    @cached_property
    @garbage_collection_paused()
    def global_module(self) -> ModuleOp:
        """The module on global shapes, with shardings and collectives; repeated layers are unfolded."""
        module = copy_with_regions(self.folded)
        run_passes(make_context(), module, [UnfoldLayersPass()], verify_each=False)
        return module

    def run(self, *args: object, **kwargs: object) -> R:
        """Run the local program on all devices at once, on global arrays, and return the global results.

        Raises: SdyError if the arrays do not match the arguments, or if two devices hold different copies of the same
        result.
        """
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(args, kwargs)))

    # Running a program needs NumPy and the interpreter, which are imported only then: partitioning does without them.

    def run_flat(self, inputs: Sequence[Array], observer: OpObserver | None = None) -> list[Array]:
        """Run the program like `run`, with one array per argument and per result of the main function."""
        from sdy.interpreter.inputs import check_inputs

        check_inputs(main_function(self.folded), [(array.shape, array.dtype) for array in inputs])
        return self.global_results(self.run_on_devices(inputs, observer))

    def run_on_devices(self, inputs: Sequence[Array], observer: OpObserver | None = None) -> list[DeviceArray]:
        """Run the local program on global inputs, and return the shards of the results. Raises: SdyError as `run`."""
        from sdy.interpreter.devices.grid import grid_of_mesh
        from sdy.interpreter.devices.shards import shard
        from sdy.interpreter.spmd import run_spmd

        pairs = zip(inputs, self.boundary.arguments, strict=True)
        try:
            shards = [shard(array, placement.sharding, placement.mesh) for array, placement in pairs]
        except MemoryError as error:
            raise located(out_of_memory(error), main_function(self.folded)) from error
        name = main_function(self.local).sym_name.data
        grid = grid_of_mesh(self.boundary.mesh)
        return run_spmd(self.local, shards, grid, name, self.origin.host(), observer)

    def global_results(self, results: Sequence[DeviceArray]) -> list[Array]:
        """Assemble the global results from their shards.

        Raises: SdyError SDY-X101 if two devices hold different copies of the same result.
        """
        from sdy.interpreter.devices.shards import unshard
        from sdy.program.comparison import check_equal_copies

        arrays: list[Array] = []
        for index, (result, placement) in enumerate(zip(results, self.boundary.results, strict=True)):
            try:
                check_equal_copies(result, placement, index)
            except SdyError as error:
                raise located(error, main_function(self.folded)) from error
            arrays.append(unshard(result, placement.sharding, placement.mesh, placement.shape))
        return arrays

    @garbage_collection_paused()
    def cost(self, machine: str | Hardware, free_bytes: float | str | None = None) -> ProgramCost:
        """Estimate the time and memory of the program on one device of a machine, without running it.

        `machine` is the name of a known machine (`tpu_v5e`), the path of a TOML file (`chip.toml`) or a `Hardware`.
        `free_bytes` is the device memory that the program may use (`"14GB"`), by default all of it.
        Raises: SdyError SDY-T209 if no machine has this name, SDY-T230 if its file is malformed; ValueError if
        `free_bytes` is not a number of bytes.
        """
        free = None if free_bytes is None else byte_count(free_bytes)
        return on_demand.cost_of(self.local, self.boundary.mesh, on_demand.resolve_hardware(machine), free)

    def trace(self, machine: str | Hardware) -> dict[str, object]:
        """Return the estimated schedule of the ops as a trace for the viewers of Chrome and Perfetto.

        Write the result with `json.dump`. Ops run one after another, so the trace ends at
        `cost(machine).seconds_in_turn`.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        hardware, mesh = on_demand.resolve_hardware(machine), self.boundary.mesh
        slots, curve = list(on_demand.schedule_of(self.local, mesh, hardware)), on_demand.memory_curve(self.local)
        return on_demand.schedule_trace(slots, curve, mesh, hardware, self.origin.source_lines)

    def to_jax(self, devices: Sequence[object] = ()) -> Callable[..., R]:
        """Return a function of global JAX arrays that runs the local program on JAX devices, in one `shard_map`.

        The function may be called inside of `jax.jit`, but it has no derivatives, and no batching rule for `jax.vmap`.
        By default it runs on the devices of the JAX function that the program was lowered from, or on the first JAX
        devices if the program was read from text.
        Raises: SdyError SDY-X104 if there are too few devices, SDY-X109 if the program calls Python functions, as
        `jax.debug.print` does, SDY-T205 if JAX is not installed.
        """
        # JAX numbers the devices of a program by their position in the mesh.
        local = self.local
        if self.boundary.mesh.device_ids:
            optimize = self.optimize_communication
            local = local_program_by_position(self.folded, self.boundary.mesh, optimize_communication=optimize)
        with self.origin.named_lines():
            flat = jax_function(local, self.boundary, devices or self.origin.devices)
        return self.origin.signature.on_devices(flat)

    def __repr__(self) -> str:
        """Return one line: the main function with the number of its arguments and results, and the meshes."""
        return f"PartitionedProgram({summary(self.folded)})"

    def _repr_html_(self) -> str:
        """Return the tables that notebooks show: meshes, arguments and results, and collectives with their bytes."""
        modules = self.global_module, self.local, self.boundary.mesh
        return on_demand.partitioned_program_html(repr(self), *modules, self.origin.argument_names)

    def __str__(self) -> str:
        """Return the text of the local program."""
        return print_module(self.local)


def partitioned_program(module: ModuleOp, origin: Origin[R], *, optimize_communication: bool) -> PartitionedProgram[R]:
    """Propagate the shardings of a copy of a module, then partition it.

    Raises: SdyError at the first op that is unsupported.
    """
    pipeline = PartitionPipeline(optimize_communication, keep_layers=True)
    return _partitioned(module, origin, [pipeline], optimize_communication=optimize_communication)


def explained_partition(
    module: ModuleOp, origin: Origin[R], *, optimize_communication: bool
) -> tuple[PartitionedProgram[R], Explainer]:
    """Partition as `partitioned_program` does, and explain its propagation, which runs only once. Raises: likewise."""
    passes, traced = on_demand.with_trace([PartitionPipeline(optimize_communication, keep_layers=True)])
    partitioned = _partitioned(module, origin, passes, optimize_communication=optimize_communication)
    texts = origin.text, origin.source_lines, origin.argument_names
    return partitioned, on_demand.Explainer(make_context(), module, *texts, traced=traced.found[0])


@garbage_collection_paused()
def _partitioned(
    module: ModuleOp, origin: Origin[R], passes: Sequence[ModulePass], *, optimize_communication: bool
) -> PartitionedProgram[R]:
    context, copy = make_context(), copy_with_regions(module)
    with origin.named_lines():
        main_block(module)  # a declaration cannot be partitioned
        run_passes(context, copy, passes, verify_each=False)
        verify_module(copy)
        local = local_program(copy, context, optimize_communication=optimize_communication)
    remarks = tuple(with_sources(each, origin.source_lines) for each in context.diagnostics)
    return PartitionedProgram(copy, local, boundary_of(copy), origin, remarks, optimize_communication)


def reported_program(written: ModuleOp, partitioned: PartitionedProgram[R], explainer: Explainer) -> ReportedProgram:
    """Return everything that reports need; `written` is the module of the user, which `explainer` explains."""
    return on_demand.ReportedProgram(
        written=written,
        global_module=partitioned.global_module,
        local=partitioned.local,
        mesh=partitioned.boundary.mesh,
        explainer=explainer,
        text=partitioned.origin.text,
        source_lines=partitioned.origin.source_lines,
        argument_names=partitioned.origin.argument_names,
        remarks=partitioned.remarks,
    )
