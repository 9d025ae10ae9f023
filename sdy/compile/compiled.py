"""A compiled program: as the user wrote it, on global shapes, and as each device runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.propagated import ShardedBoundary, boundary_of, summary
from sdy.cost.memory import is_worth_its_memory, peak_bytes
from sdy.cost.quantities import byte_count
from sdy.cost.traffic import Sends, sends_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, with_sources
from sdy.dialects.ir.context import SdyContext, remark
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.verification.op_checks import OpChecks
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.failure import out_of_memory
from sdy.jax.optional_jax import jax_function
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.manager.traced_propagation import TracedPropagation, with_trace
from sdy.passes.run import run_passes
from sdy.rules.all import RULE_ATTRIBUTE

if TYPE_CHECKING:
    from sdy.cost.hardware import Hardware
    from sdy.cost.program_cost import ProgramCost
    from sdy.interpreter.arrays.element_types import Array
    from sdy.interpreter.devices.values import DeviceArray
    from sdy.interpreter.run import RunSettings

_DIFFERENT_COPIES = (
    "a manual computation returned values that do not match its out_shardings; if there is none, report a bug in sdy"
)
R = TypeVar("R", default="list[Array]")


@dataclass(frozen=True)
class Compiled(ShardedBoundary[R]):
    """A program in which all communication is explicit.

    `written` is the module of the user. `folded` is the module on global shapes, with shardings and sdy collectives, in
    which one function stands for all repetitions of a layer. `local` is the plain StableHLO module that each device
    runs. `boundary` has the shardings of arguments and results. `trace` has the steps of the propagation, if they were
    recorded. `textbook` is the local program if each op is lowered by itself, without the communication optimizer, as
    XLA does it, with repeated layers folded; None if that was not tried.
    """

    written: ModuleOp
    folded: ModuleOp
    local: ModuleOp
    boundary: ProgramPlacement
    origin: Origin[R]
    options: CompileOptions = DEFAULT
    remarks: tuple[Diagnostic, ...] = ()
    trace: TracedPropagation | None = field(default=None, repr=False)
    textbook: ModuleOp | None = field(default=None, repr=False)
    _costs: dict[Hardware, ProgramCost] = field(
        default_factory=dict["Hardware", "ProgramCost"], init=False, repr=False, compare=False
    )

    @property
    def mesh(self) -> Mesh:
        """The mesh of the devices that run the program."""
        return self.boundary.mesh

    @cached_property
    @garbage_collection_paused()
    def global_module(self) -> ModuleOp:
        """The module on global shapes, with shardings and collectives; repeated layers are unfolded."""
        module = copy_with_regions(self.folded)
        run_passes(make_context(), module, [UnfoldLayersPass()], verify_each=False)
        return module

    def run(self, /, *args: object, **kwargs: object) -> R:
        """Run the local program on all devices at once, on global arrays, and return the global results.

        Raises: SdyError if the arrays do not match the arguments, or if two devices hold different copies of the same
        result.
        """
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(args, kwargs)))

    # Running a program needs NumPy and the interpreter, which are imported only then: partitioning does without them.

    def run_flat(self, inputs: Sequence[Array], settings: RunSettings | None = None) -> list[Array]:
        """Run the program like `run`, with one array per argument and per result of the main function."""
        from sdy.interpreter.run import check_inputs

        check_inputs(main_function(self.folded), [(array.shape, array.dtype) for array in inputs])
        return self.global_results(self.run_on_devices(inputs, settings))

    def run_on_one_device(self, inputs: Sequence[Array], settings: RunSettings | None = None) -> list[Array]:
        """Run the program of the user on one device, ignoring all shardings. Raises: SdyError as `run`."""
        from sdy.interpreter.run import interpret

        name = main_function(self.written).sym_name.data
        return interpret(self.written, inputs, name, self.origin.host(), settings)

    def run_on_devices(self, inputs: Sequence[Array], settings: RunSettings | None = None) -> list[DeviceArray]:
        """Run the local program on global inputs, and return the shards of the results. Raises: SdyError as `run`."""
        from sdy.interpreter.devices.grid import grid_of_mesh
        from sdy.interpreter.devices.shards import shard
        from sdy.interpreter.run import run_spmd

        pairs = zip(inputs, self.boundary.arguments, strict=True)
        try:
            shards = [shard(array, placement.sharding, placement.mesh) for array, placement in pairs]
        except MemoryError as error:
            raise located(out_of_memory(error), main_function(self.folded)) from error
        name = main_function(self.local).sym_name.data
        grid = grid_of_mesh(self.boundary.mesh)
        return run_spmd(self.local, shards, grid, name, self.origin.host(), settings)

    def global_results(self, results: Sequence[DeviceArray]) -> list[Array]:
        """Assemble the global results from their shards.

        Raises: SdyError SDY-X101 if two devices hold different copies of the same result.
        """
        from sdy.interpreter.devices.shards import copies_problem, unshard

        arrays: list[Array] = []
        for index, (result, placement) in enumerate(zip(results, self.boundary.results, strict=True)):
            problem = copies_problem(result, placement, index)
            if problem:
                error = SdyError(Diagnostic("SDY-X101", problem, hint=_DIFFERENT_COPIES))
                raise located(error, main_function(self.folded))
            arrays.append(unshard(result, placement.sharding, placement.mesh, placement.shape))
        return arrays

    @garbage_collection_paused()
    def cost(self, on: str | Hardware, free_bytes: float | str | None = None) -> ProgramCost:
        """Estimate the time and memory of the program on one device of a machine, without running it.

        `on` is the name of a known machine (`tpu_v5e`), the path of a TOML file (`chip.toml`) or a `Hardware`.
        `free_bytes` is the device memory that the program may use (`"14GB"`), by default all of it.
        Raises: SdyError SDY-T209 if no machine has this name, SDY-T230 if its file is malformed; ValueError if
        `free_bytes` is not a number of bytes.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.cost.program_cost import cost_of

        machine = resolve_hardware(on)
        free = machine.hbm_bytes if free_bytes is None else byte_count(free_bytes)
        if machine not in self._costs:
            self._costs[machine] = cost_of(self.local, self.boundary.mesh, machine)
        return replace(self._costs[machine], free_bytes=free)

    def to_jax(self, devices: Sequence[object] = ()) -> Callable[..., R]:
        """Return a function of global JAX arrays that runs the local program on JAX devices, in one `shard_map`.

        The function may be called inside of `jax.jit`, but it has no derivatives, and no batching rule for `jax.vmap`.
        By default it runs on the devices of the JAX function that the program was lowered from, or on the first JAX
        devices if the program was read from text.
        Raises: SdyError SDY-X104 if there are too few devices, SDY-X109 if the program calls Python functions, as
        `jax.debug.print` does, SDY-T205 if JAX is not installed.
        """
        # JAX numbers the devices of a program by their position in the mesh.
        mesh = self.boundary.mesh
        local = _lowered_by_position(self.folded, mesh, self.options) if mesh.device_ids else self.local
        with self.origin.named_lines():
            flat = jax_function(local, self.boundary, devices or self.origin.devices)
        return self.origin.signature.on_devices(flat)

    def __repr__(self) -> str:
        """Return one line: the main function with the number of its arguments and results, and the meshes."""
        return f"Compiled({summary(self.folded)})"

    def __str__(self) -> str:
        """Return the text of the local program."""
        return print_module(self.local)


@garbage_collection_paused()
def compiled(
    written: ModuleOp, origin: Origin[R], options: CompileOptions = DEFAULT, *, is_traced: bool = False
) -> Compiled[R]:
    """Propagate the shardings of a copy of a module, partition it, and lower it to the program of one device.

    With `is_traced`, the steps of the propagation are recorded. Raises: SdyError at the first op that is unsupported.
    """
    context, copy = make_context(), copy_with_regions(written)
    propagation, _ = options.partitions()
    passes, traced = with_trace(propagation) if is_traced else (propagation, None)
    with origin.named_lines():
        main_block(written)  # a declaration cannot be partitioned
        run_passes(context, copy, passes, verify_each=False)
        found = partitioned(copy, context, options, origin.checks)
    remarks = tuple(with_sources(each, origin.source_lines) for each in found.context.diagnostics)
    trace = None if traced is None else traced.found[0]
    boundary = boundary_of(found.folded)
    return Compiled(written, found.folded, found.local, boundary, origin, found.options, remarks, trace, found.textbook)


@dataclass(frozen=True)
class Partitioned:
    """A program with collectives on global shapes, and as each device runs it, with the options that made it.

    `textbook` is the local program without the communication optimizer, with folded layers; None if that was not tried.
    """

    folded: ModuleOp
    local: ModuleOp
    options: CompileOptions
    context: SdyContext
    textbook: ModuleOp | None = None


class _Use(NamedTuple):
    """A program of one device, the bytes that it sends, and the most that it holds at once."""

    local: ModuleOp
    sends: Sends
    peak: int

    def saved_by(self, other: _Use) -> str | None:
        """Return the saving of another program, as text; None if this one is at least as good."""
        sent, held = self.sends.bytes - other.sends.bytes, self.peak - other.peak
        if sent > 0:
            return f"sends {sent:,.0f} bytes"
        is_equal = not sent and other.sends.runs <= self.sends.runs
        is_worth_it = is_worth_its_memory(self.sends.bytes, self.peak, other.sends.bytes, other.peak)
        return f"holds {held:,.0f} bytes" if held > 0 and (is_equal or not is_worth_it) else None


def partitioned(propagated: ModuleOp, context: SdyContext, options: CompileOptions, checks: OpChecks) -> Partitioned:
    """Make the communication of a propagated module explicit, and lower it to the program of one device.

    With the optimizer, the module is also partitioned without it, and what sends less is returned; of two that send as
    much, the optimized one, unless the other needs less memory and no more collectives. The other one is also returned
    if the optimized one is not worth its memory. Remarks are added to `context`. `checks` are of earlier verifications
    of the module. Raises: SdyError at the first op that is unsupported.
    """
    plain = options.without_optimizer()
    alternative = None if plain is None else (plain, copy_with_regions(propagated))
    before = tuple(context.diagnostics)
    run_passes(context, propagated, options.partitions()[1], verify_each=False)
    verify_module(propagated, checks)
    local = _lowered_layers(propagated, context, options, checks)
    sends = sends_of(local)
    without = None if alternative is None or not sends.bytes else _use_of(*alternative)
    textbook = None if without is None else without.local
    saved = None if without is None else _Use(local, sends, peak_bytes(local)).saved_by(without)
    if saved is None or alternative is None:
        return Partitioned(propagated, unfolded(local, context), options, context, textbook)
    plain, original = alternative
    other_context = make_context()
    other_context.diagnostics += before
    other = replace(partitioned(original, other_context, plain, checks), textbook=textbook)
    message = f"partitioned without the communication optimizer, so that each device {saved} less"
    remark(other_context, "SDY-L127", message, main_function(other.folded))
    return other


def _use_of(options: CompileOptions, propagated: ModuleOp) -> _Use | None:
    """Return what a device sends and holds with some options; None if an op is unsupported with them."""
    trial = copy_with_regions(propagated)
    try:
        run_passes(make_context(), trial, [*options.partitions()[1], options.lowers()], verify_each=False)
    except SdyError:
        return None  # an op that is supported only after the optimizer has rewritten it
    return _Use(trial, sends_of(trial), peak_bytes(trial))


def lowered(global_module: ModuleOp, context: SdyContext, options: CompileOptions = DEFAULT) -> ModuleOp:
    """Lower collectives on global tensors to the program that each device runs; remarks are added to `context`.

    Raises: SdyError at the first op that cannot run on shards.
    """
    return unfolded(_lowered_layers(global_module, context, options), context)


def _lowered_layers(
    global_module: ModuleOp, context: SdyContext, options: CompileOptions, checks: OpChecks | None = None
) -> ModuleOp:
    """Return what `lowered` does, with one function for all repetitions of a layer. `checks` are of the global ops."""
    local = copy_with_regions(global_module)
    run_passes(context, local, [options.lowers()], verify_each=False)
    for op in pre_order(local):
        # Custom sharding rules describe the global ops; the passes above still used them.
        op.attributes.pop(RULE_ATTRIBUTE, None)
    verify_module(local, checks)  # before layers are unfolded, so that each layer is verified once
    return local


def unfolded(local: ModuleOp, context: SdyContext) -> ModuleOp:
    """Unfold the repeated layers of a local program, in place, and return it."""
    run_passes(context, local, [UnfoldLayersPass()], verify_each=False)
    return local


def _lowered_by_position(global_module: ModuleOp, mesh: Mesh, options: CompileOptions) -> ModuleOp:
    """Return the local program with devices numbered by their position in `mesh`."""
    number_of = {device: number for number, device in enumerate(mesh.listed_devices())}
    renumbered = copy_with_regions(global_module)
    for op in renumbered.ops:
        if isinstance(op, MeshOp) and op.mesh.data.device_count == mesh.device_count:
            numbers = tuple(number_of[device] for device in op.mesh.data.listed_devices())
            op.mesh = MeshAttr(Mesh(op.mesh.data.axes, numbers))
    return lowered(renumbered, make_context(), options)


class TrialPartitions:
    """The local programs of edited copies of a program.

    Copies in which the same shardings propagate, such as two with different priorities, are partitioned once.
    """

    def __init__(self, origin: Origin[Any], options: CompileOptions) -> None:
        self._origin, self._options = origin, options
        self._known: dict[str, ModuleOp] = {}

    @garbage_collection_paused()
    def local(self, module: ModuleOp) -> ModuleOp:
        """Return the program of one device. Raises: SdyError at the first op that is unsupported."""
        context, copy = make_context(), copy_with_regions(module)
        propagation, _ = self._options.partitions()
        with self._origin.named_lines():
            run_passes(context, copy, propagation, verify_each=False)
            text = print_module(copy)
            if text not in self._known:
                self._known[text] = partitioned(copy, context, self._options, self._origin.checks).local
        return self._known[text]
