"""The pipelines of published rows, priced as the search for pipelines prices its own.

The program of a row is here that of the whole model on the global batch, in which nothing is recomputed: the stages,
the microbatches and what is recomputed are the recipe's, or what the search finds.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import jax
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.cost.hardware import Hardware
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import set_argument_sharding
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.search.pipelines.equal_layers import equal_layers
from sdy.search.pipelines.layer_costs import Layout, layer_costs, with_shardings_of
from sdy.search.pipelines.one_microbatch import ThreeLayers, one_microbatch, three_layers
from sdy.search.pipelines.pipeline_plan import PipelinePlan
from sdy.search.pipelines.pipeline_search import PipelineCandidate, PricedLayers, balanced_cut
from sdy.search.planned_shardings import planned_shardings
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import Goal, SearchRequest
from sdy.search.searched_module import MESH_NAME, prepared_module, without_shardings
from support.measured.pricing import machine_of
from support.measured.published import Row, published_rows
from support.measured.training import MESH_AXES, Model, Step, layout_of

_NAME = re.compile(r"tensors\['(\w+)'\]\['(\w+)'\]")
MOST_SECONDS = 60.0  # for the shardings of a recipe that it does not state


@dataclass(frozen=True)
class Recipe:
    """A pipeline by its row, priced by the search's own price: `seconds`, and whether it fits in memory."""

    row: Row
    candidate: PipelineCandidate
    hardware: Hardware

    @property
    def seconds(self) -> float:
        """The seconds of a step."""
        return self.candidate.seconds

    @property
    def free_bytes(self) -> float:
        """The memory that the search gets: that of the machine, or what the recipe needs by the same price."""
        return max(self.hardware.hbm_bytes, *self.candidate.peak_bytes)


def rows_of_pipelines(folder: Path) -> list[Row]:
    """Return the rows with several stages, those that are searched fastest first."""
    rows = [row for row in published_rows(folder, "steps.csv") if row.count("stage") > 1]
    return sorted(rows, key=lambda row: (row.count("experts", 0), row.count("devices"), row.count("global_batch")))


def program_of_recipe(row: Row) -> sdy.Program[object]:
    """Return the step of the whole model on the global batch at once."""
    cells = row.cells | {"stage": "1", "micro_batches": "1", "remat": "none"}
    layout = replace(layout_of(row), manual=())
    step = Step(Row(row.file, cells), Model.of(row, layout))
    return sdy.from_jax(jax.jit(step), *step.arguments())


def recipe_of(row: Row, program: sdy.Program[object]) -> Recipe:
    """Return the pipeline of a row."""
    hardware, found = machine_of(row), equal_layers(program.module)
    three, microbatches = three_layers(found), microbatches_of(row)
    part = one_microbatch(three, microbatches)
    assert part is not None
    mesh = Mesh(tuple(MeshAxis(axis, row.count(axis)) for axis in MESH_AXES if row.count(axis) > 1))
    written = without_shardings(part.module, mesh)
    for index, sharding in enumerate(_shardings(row, program, three, [each.index for each in found.origins])):
        if sharding is not None:
            set_argument_sharding(main_function(written), index, sharding)
    layout = _layout(written, mesh, hardware)
    costs = layer_costs(with_shardings_of(layout, part), part, mesh, hardware)
    priced = PricedLayers(layout, microbatches, costs, found.count, found.trains)
    stages = row.count("stage")
    chunks = min(row.count("virtual_stages"), found.count // stages)
    schedule = "1F1B" if chunks == 1 else "Interleaved1F1B"
    recomputing = frozenset(range(stages)) if "recomputed" in row["remat"] else frozenset[int]()
    count = stages * chunks
    is_even = found.count % count == 0
    cut = (found.count // count,) * count if is_even else balanced_cut(priced, stages, schedule, chunks)
    candidate = PipelineCandidate(priced, stages, schedule, cut, recomputing)
    timeline = candidate.timeline(hardware)
    simulated = replace(candidate, seconds=timeline.seconds, peak_bytes=tuple(timeline.peak_bytes))
    return Recipe(row, simulated, hardware)


def microbatches_of(row: Row) -> int:
    """Return the number of microbatches: without accumulation, torchtitan divides the batch into as many as stages."""
    return max(row.count("micro_batches"), row.count("stage"))


def searched(recipe: Recipe, program: sdy.Program[object], seconds: float) -> PipelinePlan:
    """Return the pipeline that the search finds on as many devices with as much memory."""
    row = recipe.row
    return program.search(
        stages=sorted({2, 4, 8, row.count("stage")}),
        microbatches=sorted({4, 8, 16, 32, 64, microbatches_of(row)}),
        devices=row.count("devices"),
        on=recipe.hardware,
        memory=recipe.free_bytes,
        time_limit=seconds,
    )


def _layout(written: ModuleOp, mesh: Mesh, hardware: Hardware) -> Layout:
    """Return the best shardings of what is not annotated."""
    module_on_mesh = prepared_module(written).on(mesh, MESH_NAME)
    networks = SearchNetworks(written, module_on_mesh, SearchRequest(hardware, hardware.hbm_bytes))
    objective = Goal.TIME.objectives()[0]
    _, network = networks.solver(objective, MOST_SECONDS)
    solution = networks.solution(objective, inf, MOST_SECONDS)
    assert solution is not None
    planned = planned_shardings(written, module_on_mesh, network, solution.labels)
    return Layout(mesh, written, planned, solution)


def _shardings(
    row: Row, program: sdy.Program[object], three: ThreeLayers, origins: Sequence[int]
) -> Iterator[TensorSharding | None]:
    """Yield the shardings of the arguments of three layers: weights as they are used or, with FSDP, stored; tokens."""
    layout = replace(layout_of(row), manual=())
    weights = Model.of(row, layout).weights()
    batch = ((), layout.batch, layout.sequence)
    for originals in three.originals:
        name = program.origin.argument_names[origins[originals[0].index]] if originals else ""
        found = _NAME.fullmatch(name)
        if found is not None:
            weight = weights[found[1]][found[2]]
            yield _sharding(weight.stored if row["sharding"].startswith("torchtitan") else weight.used)
        elif name in ("tokens", "targets"):
            yield _sharding(batch)
        else:
            yield None


def _sharding(dims: Sequence[Sequence[str]]) -> TensorSharding:
    return TensorSharding(MESH_NAME, tuple(DimSharding(tuple(map(AxisRef, axes))) for axes in dims))
