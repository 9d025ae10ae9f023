"""A partitioned program: what it is on whole tensors and on one device, how it runs, where its values lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hardware import Hardware, resolve_hardware
from sdy.cost.memory_curve import memory_curve
from sdy.cost.program_cost import ProgramCost, cost_of
from sdy.cost.schedule import schedule_of
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context, print_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import shard, unshard
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.executor import Observer
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.spmd import run_spmd
from sdy.model.devices.placement import ProgramPlacement
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.run import run_passes
from sdy.program.lowered import is_in_order, local_program_by_place
from sdy.program.on_jax import jax_function
from sdy.program.origin import Origin
from sdy.program.placed import Placed
from sdy.program.replicas import disagreeing_devices
from sdy.report.schedule_trace import schedule_trace

R = TypeVar("R", default=list[Array])


@dataclass(frozen=True)
class PartitionedProgram(Placed[R]):
    """A program with every communication explicit.

    `folded` still has whole tensors and shardings, and functions for what repeats; `local` is the plain StableHLO
    program that each device runs.
    """

    folded: ModuleOp
    local: ModuleOp
    boundary: ProgramPlacement
    origin: Origin[R]
    remarks: tuple[Diagnostic, ...] = ()
    optimize_communication: bool = True  # as it was when this was made

    @cached_property
    def whole(self) -> ModuleOp:
        """The program on whole tensors, with shardings, each layer written out."""
        whole = self.folded.clone()
        run_passes(make_context(), whole, [UnfoldLayersPass()], verify_each=False)
        return whole

    def run(self, *arrays: object, **named: object) -> R:
        """The whole results of running the local program on all devices at once, on whole arrays.

        Raises: SdyError where the arrays do not fit, or two devices that should hold the same result do not.
        """
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(arrays, named)))

    def run_flat(self, inputs: Sequence[Array]) -> list[Array]:
        """As `run`, with one array per argument and per result of the main function."""
        check_inputs(main_function(self.folded), [(array.shape, array.dtype) for array in inputs])
        return self.whole_results(self.run_on_devices(inputs))

    def run_on_devices(self, inputs: Sequence[Array], observer: Observer | None = None) -> list[DeviceArray]:
        """What each device holds of the results, on whole inputs that fit. Raises: SdyError as `run_spmd`."""
        pairs = zip(inputs, self.boundary.arguments, strict=True)
        shards = [shard(array, place.sharding, place.mesh) for array, place in pairs]
        name = main_function(self.local).sym_name.data
        return run_spmd(self.local, shards, grid_of_mesh(self.boundary.mesh), name, observer=observer)

    def whole_results(self, results: Sequence[DeviceArray]) -> list[Array]:
        """The results put together. Raises: SdyError where two devices that should hold the same result do not."""
        whole: list[Array] = []
        for index, (result, place) in enumerate(zip(results, self.boundary.results, strict=True)):
            disagreeing_devices(result, place, index)
            whole.append(unshard(result, place.sharding, place.mesh, place.shape))
        return whole

    def cost(self, machine: str | Hardware, free_bytes: float | None = None) -> ProgramCost:
        """Seconds and bytes of one device of a machine, `tpu_v5e` or one of your own; nothing is run.

        `free_bytes`: memory of the device that the program may use; all of it without.
        Raises: SdyError SDY-T209 where no machine is called so.
        """
        return cost_of(self.local, self.boundary.mesh, resolve_hardware(machine), free_bytes)

    def trace(self, machine: str | Hardware) -> dict[str, object]:
        """When each op runs on a machine, as `json.dump` writes it for Chrome's and Perfetto's viewers.

        Ops run one after another, so that the end is `cost(machine).seconds_in_turn`.
        Raises: SdyError SDY-T209 where no machine is called so.
        """
        hardware, mesh = resolve_hardware(machine), self.boundary.mesh
        slots = list(schedule_of(self.local, mesh, hardware))
        return schedule_trace(slots, memory_curve(self.local), mesh, hardware, self.origin.source_lines)

    def to_jax(self, devices: Sequence[object] = ()) -> Callable[..., R]:
        """A function that runs the local program on JAX's devices, on whole arrays, in one `shard_map`.

        It may be called inside of `jax.jit`. The devices are those of the program that came from JAX; JAX's first ones
        where it was read from text. Raises: SdyError where there are too few, or where JAX is not installed.
        """
        # JAX numbers the devices of a program by their place in the mesh.
        local = self.local
        if not is_in_order(self.folded):
            local = local_program_by_place(self.folded, optimize_communication=self.optimize_communication)
        flat = jax_function(local, self.boundary, devices or self.origin.devices)
        return self.origin.signature.on_devices(flat)

    def __str__(self) -> str:
        """The text of the local program."""
        return print_module(self.local)
