"""The result of a search for a pipeline: what to write down, its timeline, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sdy.compile.pipeline_cost import PipelineCost
from sdy.compile.written_program import WrittenProgram
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.wording import counted
from sdy.documents.document import document
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.mesh import Mesh
from sdy.report.boundary import BoundaryValue
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import WIDTH, FittedTable, fitted_table, tables_text
from sdy.report.tables.pipeline_tables import chart, pipeline_tables
from sdy.report.tables.program_tables import bytes_text
from sdy.search.pipelines.pipeline_request import PipelineRequest
from sdy.search.pipelines.pipeline_search import PipelineResult, mesh_of_stage, search_pipeline
from sdy.search.plans.plan_code import leaf_specs, rules_lines, rules_of


@dataclass(frozen=True, repr=False)
class PipelinePlan(Reported):
    """A pipeline for a program of equal layers, found by a search.

    `layers` are the numbers of layers of the stages in order, and `schedule` orders the `microbatches` on each mesh.
    The meshes `recomputing` compute the forward phases of their stages again instead of keeping their results. `cost`
    is that of the simulated pipeline, and no other one that was compared takes less than `bound` seconds.
    """

    result: PipelineResult = field(repr=False)
    request: PipelineRequest = field(repr=False)
    argument_names: Sequence[str] = field(repr=False)

    @property
    def mesh(self) -> Mesh:
        """The mesh of each stage."""
        return self.result.best.priced.layout.mesh

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of layers of the stages."""
        return self.result.best.layers

    @property
    def schedule(self) -> str:
        """The name of the schedule, for `pipeline_schedule` of `sdy.mpmd.make_config`."""
        return self.result.best.schedule

    @property
    def microbatches(self) -> int:
        """The number of microbatches."""
        return self.result.best.priced.microbatches

    @property
    def recomputing(self) -> tuple[str, ...]:
        """The meshes that compute forward phases again."""
        return tuple(f"m{mesh}" for mesh in sorted(self.result.best.recomputing))

    @cached_property
    def cost(self) -> PipelineCost:
        """The times and the memory of the pipeline."""
        return self.result.best.timeline(self.request.hardware).cost()

    @property
    def bound(self) -> float:
        """A lower bound of the seconds: of any division into stages and any schedule, with the shardings compared."""
        return self.result.bound

    @property
    def fits(self) -> bool:
        """Return whether each mesh holds at most the memory that it may use."""
        return self.cost.peak_bytes <= self.request.free_bytes

    @property
    def is_complete(self) -> bool:
        """True unless the time limit or the user ended the search."""
        return self.result.end.is_complete

    @property
    def mesh_of_stage(self) -> tuple[str, ...]:
        """The name of the mesh of each stage."""
        meshes = self.result.best.meshes
        return tuple(f"m{mesh_of_stage(self.schedule, stage, meshes)}" for stage in range(len(self.layers)))

    @property
    def in_shardings(self) -> dict[str, str]:
        """The PartitionSpec of each argument on the mesh of its stage, by its name."""
        return {value.name: write_partition_spec(value.sharding) for value in self._arguments if value.sharding}

    @property
    def rules(self) -> dict[str, str]:
        """The shardings of the arguments as rules for their paths; empty if the arguments have no names."""
        return rules_of(leaf_specs(self._arguments)) if self.argument_names else {}

    @cached_property
    def _arguments(self) -> list[BoundaryValue]:
        planned = self.result.best.priced.layout.planned.arguments
        found: dict[int, BoundaryValue] = {}
        pairs = zip(self.result.three.originals, planned, strict=True)
        for originals, sharding in sorted(pairs, key=lambda pair: len(pair[0])):  # of an array of layers, middle ones
            for argument in (self.result.found.origins[each.index] for each in originals):
                name = self.argument_names[argument.index] if self.argument_names else ""
                found[argument.index] = BoundaryValue(f"%arg{argument.index}", name, argument.type, sharding)
        return [found[index] for index in sorted(found)]

    @property
    def code(self) -> str:
        """The lines of Python that divide a program whose layers are named `layer0`, `layer1` and so on."""
        axes = "".join(f'"{axis.name}", ' for axis in self.mesh.axes)
        sizes = ", ".join(str(size) for size in (self.result.best.meshes, *(axis.size for axis in self.mesh.axes)))
        rules = rules_lines("rules", leaf_specs(self._arguments)) if self.argument_names else []
        remat = (
            [f"# on {', '.join(self.recomputing)}, with jax.checkpoint around the layers"] if self.recomputing else []
        )
        origins = self.result.found.origins
        loop = ["# with the layers of the loop written one after the other"] if len({*origins}) < len(origins) else []
        lines = [
            *rules,
            f"devices = np.array(jax.devices()).reshape({sizes})  # meshes, then their axes",
            f'topology = {{f"m{{number}}": Mesh(each, ({axes.strip()})) for number, each in enumerate(devices)}}',
            *loop,
            *remat,
            f"layers = {self.layers}  # of each stage",
            f"meshes = {self.mesh_of_stage}  # of each stage".replace("'", '"'),
            "stages = [stage for stage, count in enumerate(layers) for _ in range(count)]",
            "config = mpmd.make_config(",
            "    topology,",
            '    {f"layer{number}": meshes[stage] for number, stage in enumerate(stages)},',
            '    name_to_stage_assignment={f"layer{number}": stage for number, stage in enumerate(stages)},',
            '    partitioning_options={"mpmd_infer_transfers": True},',
            f'    pipeline_schedule="{self.schedule}",',
            ")",
        ]
        return "\n".join(lines)

    def report(self, width: int = WIDTH) -> str:
        """Return a report in plain text: the pipeline, its time and memory, the code, and what was compared."""
        tables = tables_text(self._tables(), width=width)
        return f"{tables}{chart(self.cost, width).plain}\n{self.code}\n" + tables_text([], self._notes(), width=width)

    def __repr__(self) -> str:
        """Return one line: the stages, their mesh, the microbatches, the schedule and the time."""
        axes = self.mesh.axes_text(", ")
        stages = counted(len(self.layers), "stage")
        return (
            f"PipelinePlan({stages} on {self.result.best.meshes} meshes of {axes}; {self.microbatches} microbatches, "
            f"{self.schedule}; {seconds_text(self.cost.seconds)})"
        )

    def _tables(self) -> Sequence[FittedTable]:
        rows = [
            ("meshes", f"{self.result.best.meshes} of {self.mesh.axes_text()}"),
            (
                "stages",
                " ".join(f"{mesh}:{count}" for mesh, count in zip(self.mesh_of_stage, self.layers, strict=True)),
            ),
            ("microbatches", str(self.microbatches)),
            ("schedule", self.schedule),
            ("forward phases computed again", ", ".join(self.recomputing) or "none"),
            ("lower bound of the time", seconds_text(self.bound)),
        ]
        return [
            fitted_table("pipeline; stages are meshes with numbers of layers", ("", "planned"), rows),
            *pipeline_tables(self.cost),
        ]

    def _notes(self) -> Iterator[str]:
        result, free = self.result, bytes_text(self.request.free_bytes)
        yield (
            f"{counted(result.compared, 'pipeline')} of {counted(result.found.count, 'equal layer')} were simulated"
            f"{result.end.text}."
        )
        if result.undivided:
            counts = ", ".join(map(str, result.undivided))
            yield f"The batch cannot be divided into {counts} microbatches; these numbers were left out."
        if not self.fits:
            yield f"No pipeline was found that fits in {free} bytes; this is the one that needs the least."
        else:
            share = self.cost.seconds / self.bound - 1
            yield (
                f"It takes {share:.1%} more than the lower bound of all divisions into stages and all schedules with "
                "the shardings that were compared."
            )

    def _meshes(self) -> Mapping[str, Mesh]:
        return {"mesh": self.mesh}

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain data."""
        return document(
            "PipelinePlan",
            self,
            mesh=self.mesh.sizes,
            meshes=self.result.best.meshes,
            free_bytes=self.request.free_bytes,
            cost=self.cost.to_json(),
            compared=self.result.compared,
            undivided=self.result.undivided,
            end=self.result.end,
        )


def pipeline_plan(program: WrittenProgram[Any], request: PipelineRequest) -> PipelinePlan:
    """Search for the pipeline of a program. Raises: SdyError as `search_pipeline`."""
    with program.origin.named_lines():
        result = search_pipeline(program.module, request)
    return PipelinePlan(result, request, program.origin.argument_names)
