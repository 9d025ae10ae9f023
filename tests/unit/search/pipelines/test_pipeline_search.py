"""A search for a pipeline finds what trying everything finds, and what it predicts is the cost of the real pipeline."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from itertools import combinations, pairwise
from time import sleep
from typing import Any, cast

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh

import sdy
from sdy import mpmd
from sdy.cost.machines.table import HARDWARE
from sdy.dialects.sharded_types import static_shape
from sdy.search.pipelines import pipeline_search
from sdy.search.pipelines.equal_layers import EqualLayers, equal_layers
from sdy.search.pipelines.pipeline_plan import PipelinePlan
from sdy.search.pipelines.pipeline_request import pipeline_request
from sdy.search.pipelines.pipeline_search import PipelineCandidate, balanced_cut
from sdy.search.pipelines.stage_timeline import SCHEDULES

LAYERS, WIDTH, ROWS = 4, 256, 1024
Weights = list[dict[str, Any]]


def layer(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return x + jnp.tanh(x @ w["up"]) @ w["down"]


def mean_square(x: jax.Array) -> jax.Array:
    return jnp.mean(x * x)


def loss(weights: Weights, x: jax.Array) -> jax.Array:
    for number, each in enumerate(weights):
        x = mpmd.named_computation(layer, name=f"layer{number}")(x, each)
    return mpmd.named_computation(mean_square, name="loss")(x)


def updated(weights: Weights, gradients: Weights) -> Weights:
    return cast(Weights, jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients))


def step(weights: Weights, x: jax.Array) -> Weights:
    return updated(weights, jax.grad(loss)(weights, x))


def shapes(rows: int = ROWS, layers: int = LAYERS, width: int = WIDTH) -> tuple[Weights, Any]:
    def shape(*sizes: int) -> Any:
        return jax.ShapeDtypeStruct(sizes, jnp.bfloat16)

    return [{"up": shape(width, 4 * width), "down": shape(4 * width, width)} for _ in range(layers)], shape(rows, width)


@pytest.fixture(scope="module")
def program() -> sdy.Program[Any]:
    return sdy.from_jax(jax.jit(step), *shapes())


@pytest.fixture(scope="module")
def plan(program: sdy.Program[Any]) -> PipelinePlan:
    return program.search(stages="2,4", microbatches="4..8", mesh="x=2", on="h100")


def all_cuts(total: int, count: int) -> list[tuple[int, ...]]:
    ends = combinations(range(1, total), count - 1)
    return [tuple(after - before for before, after in pairwise((0, *each, total))) for each in ends]


def all_pipelines(plan: PipelinePlan) -> list[tuple[float, int]]:
    """Return the seconds and the peak bytes of all pipelines without recomputation."""
    found: list[tuple[float, int]] = []
    for meshes, priced in plan.result.priced:
        pairs = [(schedule, chunks) for schedule, numbers in SCHEDULES.items() for chunks in numbers]
        for schedule, chunks in pairs:
            for cut in all_cuts(LAYERS, meshes * chunks):
                candidate = PipelineCandidate(priced, meshes, schedule, cut, frozenset())
                timeline = candidate.timeline(plan.request.hardware)
                assert candidate.floor <= timeline.seconds
                found.append((timeline.seconds, max(timeline.peak_bytes)))
    return found


def test_the_plan_is_the_best_of_all_pipelines(plan: PipelinePlan) -> None:
    everything = all_pipelines(plan)
    assert len(everything) > 30
    assert plan.cost.seconds == min(seconds for seconds, _ in everything)
    assert plan.bound <= plan.cost.seconds
    assert plan.fits
    assert plan.is_complete
    assert sum(plan.layers) == LAYERS


def test_memory_changes_the_choice(program: sdy.Program[Any], plan: PipelinePlan) -> None:
    free = 0.6 * plan.cost.peak_bytes
    other = program.search(stages="2,4", microbatches="4..8", mesh="x=2", on="h100", memory=free)
    assert other.fits
    assert other.cost.peak_bytes <= free
    assert other.cost.seconds > plan.cost.seconds
    fitting = [seconds for seconds, peak in all_pipelines(other) if peak <= free]
    assert other.cost.seconds <= min(fitting, default=other.cost.seconds)
    assert other.bound <= other.cost.seconds


def test_large_microbatches_are_sharded_although_small_ones_cannot_be() -> None:
    program = sdy.from_jax(jax.jit(step), *shapes(rows=3 << 14, width=1024))
    plan = program.search(stages=2, microbatches=[3, 4, 8], mesh="x=3", on="h100")
    layouts = {each.microbatches: each.layout for _, each in plan.result.priced}
    batch = [static_shape(each[0].type) for each in plan.result.three.originals].index((3 << 14, 1024))
    batches = {count: str(layout.planned.arguments[batch]) for count, layout in layouts.items()}
    assert batches == {3: "<@mesh, [{}, {}]>", 4: '<@mesh, [{"x"}, {}]>', 8: '<@mesh, [{"x"}, {}]>'}
    assert layouts[4] is layouts[8]


def test_meshes_of_more_axes_may_promise_nothing(program: sdy.Program[Any]) -> None:
    plan = program.search(stages=2, microbatches=4, devices=16, on="h100")
    priced = [len(each.layout.mesh.axes) for _, each in plan.result.priced]
    assert 0 < len(priced) <= pipeline_search.PRICED_LAYOUTS
    assert 1 in priced


def test_all_meshes_of_an_interleaved_schedule_have_the_same_work() -> None:
    program = sdy.from_jax(jax.jit(step), *shapes(layers=10))
    plan = program.search(stages=2, microbatches=4, mesh="x=2", on="h100")
    (_, priced), *_ = plan.result.priced
    assert balanced_cut(priced, 2, "1F1B", 1) == (5, 5)
    for chunks in (2, 4):
        layers = balanced_cut(priced, 2, "Interleaved1F1B", chunks)
        assert sum(layers[::2]) == sum(layers[1::2]) == 5
        assert max(layers) - min(layers) == 1


def test_weights_are_sharded_if_memory_is_short() -> None:
    program = sdy.from_jax(jax.jit(step), *shapes(rows=1 << 13, width=512))
    plan = program.search(stages=2, microbatches=16, mesh="x=4", on="h100")
    free = 0.5 * plan.cost.peak_bytes
    other = program.search(stages=2, microbatches=16, mesh="x=4", on="h100", memory=free)
    assert set(plan.rules.values()) == {"P()"}
    assert "P(None, 'x')" in other.rules.values()
    assert other.cost.peak_bytes <= free


def test_with_too_little_memory_stages_recompute_and_the_plan_says_that_nothing_fits(program: sdy.Program[Any]) -> None:
    found = program.search(stages=2, microbatches=[4], mesh="x=2", on="h100", memory=1)
    assert found.recomputing
    assert not found.fits
    assert "No pipeline was found that fits in 1 bytes" in found.report()
    assert "with jax.checkpoint" in found.code


def test_a_simulated_pipeline_costs_as_much_as_the_real_one() -> None:
    microbatches, stages = 8, (0, 0, 1, 1, 2, 2)
    program = sdy.from_jax(jax.jit(step), *shapes(rows=1 << 14, layers=6))
    plan = program.search(stages=3, microbatches=microbatches, mesh="x=2", on="h100")
    weights, x = shapes(rows=(1 << 14) // microbatches, layers=6)

    def microbatched(weights: Weights, batches: list[jax.Array]) -> Weights:
        def add(sums: Weights, _: object, x: jax.Array) -> Weights:
            return cast(Weights, jax.tree.map(jnp.add, sums, jax.grad(loss)(weights, x)))

        return updated(weights, mpmd.enumerated_for(add, jax.tree.map(jnp.zeros_like, weights), batches))

    sizes = tuple(axis.size for axis in plan.mesh.axes)
    mesh = AbstractMesh(sizes, tuple(axis.name for axis in plan.mesh.axes))
    config = mpmd.make_config(
        {f"m{number}": mesh for number in range(3)},
        {f"layer{number}": f"m{stage}" for number, stage in enumerate(stages)} | {"loss": "m2"},
        name_to_stage_assignment={f"layer{number}": stage for number, stage in enumerate(stages)} | {"loss": 2},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule="1F1B",
    )
    placed = jax.tree.map(
        lambda leaf, spec: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=spec), weights, _specs(plan, mesh)
    )
    real = mpmd.jit(microbatched, config).lower(placed, [x] * microbatches).pipeline.cost("h100")
    priced, hardware = plan.result.best.priced, plan.request.hardware
    simulated = PipelineCandidate(priced, 3, "1F1B", (2, 2, 2), frozenset()).timeline(hardware).cost()
    assert simulated.seconds == pytest.approx(real.seconds, rel=0.03)
    assert simulated.peak_bytes == pytest.approx(real.peak_bytes, rel=0.05)
    assert plan.cost.seconds <= simulated.seconds


def _specs(plan: PipelinePlan, mesh: AbstractMesh) -> list[dict[str, jax.NamedSharding]]:
    P = jax.sharding.PartitionSpec
    found = {name: jax.NamedSharding(mesh, eval(spec, {"P": P})) for name, spec in plan.in_shardings.items()}
    return [{key: found[f"weights[{number}]['{key}']"] for key in ("up", "down")} for number in range(6)]


def test_a_program_without_a_backward_pass_is_divided() -> None:
    def forward(weights: Weights, x: jax.Array) -> jax.Array:
        for each in weights:
            x = layer(x, each)
        return x

    plan = sdy.from_jax(jax.jit(forward), *shapes()).search(stages=2, microbatches="2,3", mesh="x=2", on="h100")
    assert sum(plan.layers) == LAYERS
    assert plan.result.undivided == (3,)
    assert "3 microbatches; these numbers were left out" in plan.report()
    assert {slot.kind for slot in plan.cost.slots} == {"F", "T"}
    assert plan.to_json()["schedule"] in ("GPipe", "Interleaved1F1B")


def test_gradients_flow_back_if_the_first_and_the_last_layer_share_a_weight_and_gradients_are_clipped() -> None:
    def tied(weights: Weights, x: jax.Array) -> jax.Array:
        return jnp.mean((loss_input(weights, x @ weights[0]["up"][:, :WIDTH]) @ weights[0]["up"]) ** 2)

    def loss_input(weights: Weights, x: jax.Array) -> jax.Array:
        return _chain(layer, weights[1:], x)

    def tied_step(weights: Weights, x: jax.Array) -> Weights:
        found = jax.grad(tied)(weights, x)
        norm = sum(jnp.sum(each * each) for each in jax.tree.leaves(found))
        return updated(weights, jax.tree.map(lambda each: each / norm, found))

    plan = sdy.from_jax(jax.jit(tied_step), *shapes(layers=6)).search(stages=2, microbatches=4, mesh="x=2", on="h100")
    first, middle, last = plan.result.best.priced.costs
    assert first.sent == middle.sent
    assert len(middle.sent_back) == len(last.sent_back) == 1
    assert not first.sent_back


def mean_over_batch(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return layer(x - jnp.mean(x, axis=0), w)


@pytest.mark.parametrize(
    ("function", "options", "code"),
    [
        (lambda ws, x: x @ ws[0]["up"], {"stages": 2, "mesh": "x=2"}, "SDY-T263"),
        (step, {"stages": 2, "mesh": "x=2", "microbatches": 3}, "SDY-T264"),
        (lambda ws, x: _chain(mean_over_batch, ws, x), {"stages": 2, "mesh": "x=2"}, "SDY-T264"),
        (step, {"stages": 8, "mesh": "x=2"}, "SDY-T265"),
        (step, {"stages": 3, "devices": 8}, "SDY-T265"),
        (step, {"stages": 2}, "SDY-T253"),
        (step, {"stages": "2..", "mesh": "x=2"}, "SDY-T252"),
        (step, {"stages": 0, "mesh": "x=2"}, "SDY-T252"),
        (step, {"stages": 2, "mesh": "x=2", "microbatches": 1}, "SDY-T252"),
        (step, {"stages": 2, "mesh": "x=2", "devices": 4}, "SDY-T252"),
        (step, {"microbatches": 2, "mesh": "x=2"}, "SDY-T252"),
        (step, {"stages": 2, "mesh": "x=2", "overlap": True}, "SDY-T252"),
        (step, {"stages": 2, "mesh": "x=2", "time_limit": 0}, "SDY-T252"),
    ],
)
def test_bad_input_is_one_diagnostic(function: Any, options: dict[str, Any], code: str) -> None:
    program = sdy.from_jax(jax.jit(function), *shapes())
    with pytest.raises(sdy.SdyError) as raised:
        program.search(**options)
    assert [each.code for each in raised.value.diagnostics] == [code]


def _chain(one: Any, weights: Weights, x: jax.Array) -> jax.Array:
    for each in weights:
        x = one(x, each)
    return x


def test_meshes_of_a_stage_have_up_to_three_axes() -> None:
    request = pipeline_request(HARDWARE["h100"], stages="2,3", devices=16)
    assert [[axis.size for axis in mesh.axes] for mesh in request.meshes(2)] == [[8], [4, 2], [2, 2, 2]]
    assert request.meshes(3) == []


def test_the_time_limit_includes_finding_the_layers(program: sdy.Program[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = equal_layers(program.module)

    def slow_layers(_: object) -> EqualLayers:
        sleep(0.3)
        return found

    monkeypatch.setattr(pipeline_search, "equal_layers", slow_layers)
    with pytest.raises(sdy.SdyError, match=r"no pipeline could be compared in 0.25 seconds") as raised:
        program.search(stages=2, microbatches=4, mesh="x=2", on="h100", time_limit=0.25)
    assert raised.value.diagnostics[0].code == "SDY-T252"
