"""Programs of several meshes from JAX: `make_config` places names on meshes, `jit(fn, config).lower(*args)` compiles.

The names and arguments are those of Shardy's front end, so that its programs run with another import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.module_text import make_context, print_module
from sdy.jax.optional_jax import require_jax
from sdy.model.mesh import Mesh, MeshAxis
from sdy.mpmd.dialect.attrs import NamedMesh
from sdy.mpmd.execution.named_parts import name_parts
from sdy.mpmd.passes.pipelines import ExportPipeline, ImportPipeline, OptimizePipeline, ShardingPropagationPipeline
from sdy.mpmd.schedules.builtin import merges_late, splits_backward
from sdy.passes.run import run_passes
from sdy.program.pipeline import Before, Pipeline
from sdy.program.sources import read_lowered

R = TypeVar("R")
SCHEDULE = "mpmd_pipeline_schedule"
OPTIONS: dict[str, tuple[str, str]] = {  # the pipelines and their option, by the name in `partitioning_options`
    "mpmd_infer_transfers": ("import", "infer_transfers"),
    "mpmd_infer_cross_mesh_reductions": ("import", "infer_cross_mesh_reductions"),
    "mpmd_split_bwd_fragments": ("import", "split_bwd_fragments"),
    "mpmd_fragment_remat": ("optimize", "apply_fragment_remat"),
    "mpmd_merge_remat_fragments": ("optimize", "merge_remat_fragments"),
    "mpmd_merge_inferred_after_scheduling": ("import, optimize", "merge_after_scheduling"),
    "mpmd_copy_constant_creation_from_producer_to_consumer": ("export", "copy_constants_from_producer_to_consumer"),
    "mpmd_apply_merge_transfers_pass": ("export", "apply_merge_transfers"),
}


@dataclass(frozen=True)
class Config:
    """The meshes of a program, by name, and the names that live on them; see `make_config`."""

    topology: Mapping[str, Any]
    name_to_mesh_assignment: Mapping[str, str]
    name_to_stage_assignment: Mapping[str, int] = field(default_factory=dict[str, int])
    input_mesh_assignment: Any = ()
    output_mesh_assignment: Any = ()
    partitioning_options: Mapping[str, bool | str] = field(default_factory=dict[str, "bool | str"])
    pipeline_schedule: str | Before | None = None

    @property
    def named_meshes(self) -> tuple[NamedMesh, ...]:
        """The meshes in order."""
        return tuple(
            NamedMesh(name, Mesh(tuple(MeshAxis(str(axis), size) for axis, size in mesh.shape.items())))
            for name, mesh in self.topology.items()
        )

    @property
    def assignment(self) -> str:
        """The option of the import that places names on meshes."""
        stages = self.name_to_stage_assignment
        return ",".join(
            f"{name}@{mesh}" + (f"/{stages[name]}" if name in stages else "")
            for name, mesh in self.name_to_mesh_assignment.items()
        )

    @property
    def schedule(self) -> str:
        """The name of the schedule; a function orders the fragments again."""
        name = self.pipeline_schedule if isinstance(self.pipeline_schedule, str) else None
        return name or str(self.partitioning_options.get(SCHEDULE, "GPipe"))

    def options_of(self, pipeline: str) -> dict[str, Any]:
        """Return the options of a pipeline; some are on where the schedule requires it."""
        given = {"mpmd_merge_inferred_after_scheduling": merges_late(self.schedule)} | dict(self.partitioning_options)
        given["mpmd_split_bwd_fragments"] = given.get("mpmd_split_bwd_fragments") or splits_backward(self.schedule)
        options = ((OPTIONS[key], value) for key, value in given.items() if key in OPTIONS)
        return {option: bool(value) for (homes, option), value in options if pipeline in homes.split(", ")}


def make_config(
    topology: Mapping[str, Any],
    name_to_mesh_assignment: Mapping[str, str],
    *,
    name_to_stage_assignment: Mapping[str, int] | None = None,
    input_mesh_assignment: Any = (),
    output_mesh_assignment: Any = (),
    partitioning_options: Mapping[str, bool | str] | None = None,
    pipeline_schedule: str | Before | None = None,
) -> Config:
    """Return the configuration of a program of several meshes.

    `topology` has JAX meshes of equal shape in the order of the pipeline. `name_to_mesh_assignment` places named
    computations and tensors, and the prefix trees `input_mesh_assignment` and `output_mesh_assignment` the arguments
    and results; None leaves the place open. `pipeline_schedule` is a name, or a function of two fragments of a mesh
    that says whether the first runs first.
    Raises: ValueError if a mesh does not exist, or an option is unknown or has another type.
    """
    if not topology:
        raise ValueError("`topology` must have at least one mesh.")
    reserved = next((name for name in topology if "@" in name or name.endswith(("#pinned_host", "#device"))), None)
    if reserved is not None:
        message = f"Mesh name {reserved} (or any name suffixed with #pinned_host or #device) is reserved"
        raise ValueError(f"{message} for memory_kinds. Please rename it.")
    if len({tuple(mesh.shape.items()) for mesh in topology.values()}) > 1:
        raise ValueError("all meshes of `topology` must have the same axes.")
    unknown = {mesh for mesh in name_to_mesh_assignment.values() if mesh.partition("#")[0] not in topology}
    if unknown:
        raise ValueError(f"Invalid mesh name(s): {unknown} not in {topology.keys()}.")
    stages = dict(name_to_stage_assignment or {})
    wrong = next((stage for stage in stages.values() if stage < 0), None)
    if wrong is not None:
        raise ValueError(f"Stage ids must be positive integers, but got: {wrong}.")
    options = dict(partitioning_options or {})
    _check_options(options)
    return Config(
        topology,
        name_to_mesh_assignment,
        stages,
        input_mesh_assignment,
        output_mesh_assignment,
        options,
        pipeline_schedule,
    )


def _check_options(options: Mapping[str, bool | str]) -> None:
    unsupported = {key for key in options if key not in OPTIONS and key != SCHEDULE}
    if unsupported:
        raise ValueError(f"`mpmd_options` contains unsupported options {unsupported}")
    for key, value in options.items():
        if key != SCHEDULE and not isinstance(value, bool):
            raise ValueError(f"Option {key} has value {value}, which is not a boolean.")


def jit(
    func: Callable[..., R],
    mpmd_config: Config,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    donate_argnums: int | Sequence[int] | None = None,
) -> MpmdWrapped[R]:
    """Return a function whose named parts run on the meshes of a configuration; `.lower(*args)` compiles it.

    Shardings and arguments may be on any mesh of the topology; they are those on the mesh that a value lives on.
    Raises: SdyError SDY-T205 if JAX is not installed.
    """
    require_jax()
    return MpmdWrapped(func, mpmd_config, in_shardings, out_shardings, donate_argnums or ())


@dataclass(frozen=True)
class MpmdWrapped(Generic[R]):
    """A function that runs on several meshes: it can be called, or lowered first."""

    func: Callable[..., R]
    config: Config
    in_shardings: Any
    out_shardings: Any
    donate_argnums: int | Sequence[int]

    def __call__(self, *args: Any) -> R:
        """Lower, compile and run the function on JAX devices."""
        return self.lower(*args).compile()(*args)

    def lower(self, *args: Any) -> Lowered[R]:
        """Lower a call to a program on several meshes. Arguments are arrays, or shapes with shardings.

        Raises: SdyError if the program cannot be imported, such as SDY-M109 if it needs a transfer that nobody named.
        """
        from sdy.jax.to_stablehlo.lowering import devices_of, mesh_assignment, rebased_call

        config = self.config
        mesh = next(iter(config.topology.values()))
        lowered = rebased_call(self.func, mesh, args, self.in_shardings, self.out_shardings, self.donate_argnums)
        module, origin = read_lowered(lowered)
        name_parts(module, config.named_meshes)
        written = print_module(module)
        context = make_context()
        context.load_registered_dialect("mpmd")  # its ops are made here, and no text has them
        imported = ImportPipeline(
            config.assignment,
            input_assignment=mesh_assignment(lowered.signature, config.input_mesh_assignment, is_input=True),
            output_assignment=mesh_assignment(lowered.signature, config.output_mesh_assignment, is_input=False),
            **config.options_of("import"),
        )
        with origin.named_lines():
            run_passes(context, module, [imported])
            schedule = OptimizePipeline(pipeline_schedule=config.schedule, **config.options_of("optimize"))
            run_passes(context, module, [schedule])
        pipeline: Pipeline = Pipeline(module, replace(origin, devices=devices_of(config.topology.values())))
        if callable(config.pipeline_schedule):
            pipeline = pipeline.scheduled(config.pipeline_schedule)
        return Lowered(pipeline, written, config)


@dataclass(frozen=True)
class Lowered(Generic[R]):
    """A program on several meshes: `pipeline` has everything that can be done with it; see `sdy.mpmd.Pipeline`."""

    pipeline: Pipeline
    written: str
    config: Config

    def as_text(self, dialect: str = "mpmd") -> str:
        """Return the program before the import (`"stablehlo"`), or with calls of fragments (`"mpmd"`)."""
        return self.written if dialect == "stablehlo" else print_module(self._exported)

    @cached_property
    def _exported(self) -> ModuleOp:
        from sdy.dialects.ir.fast_ops import copy_with_regions

        module = copy_with_regions(self.pipeline.module)
        export = ExportPipeline(fail_on_inferred_fragments=False, **self.config.options_of("export"))
        run_passes(make_context(), module, [ShardingPropagationPipeline(), export])
        return module

    def compile(self) -> Callable[..., R]:
        """Return a function that runs the fragments on the JAX devices of their meshes, of one process or several."""
        return cast("Callable[..., R]", self.pipeline.partition().to_jax())
