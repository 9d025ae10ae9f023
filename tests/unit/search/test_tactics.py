"""Tactics shard what their patterns match, propagate in their order, and are explained if they cannot be applied."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.report.boundary import boundary_values
from sdy.search.tactics import Tactic

MESH = "data=4,model=2"


def array(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def step(params: Any, batch: Any) -> Any:
    x = batch["x"]
    for layer in params:
        x = jnp.tanh(x @ layer["up"]) @ layer["down"]
    return {"loss": jnp.mean((x - batch["y"]) ** 2), "x": x}


@pytest.fixture(scope="module")
def program() -> sdy.Program[Any]:
    params = [{"up": array(32, 64), "down": array(64, 32)} for _ in range(2)]
    return sdy.from_jax(step, params, {"x": array(16, 32), "y": array(16, 32)})


def argument_dims(program: sdy.Program[Any]) -> dict[str, str]:
    """Return the dim shardings of the arguments that are annotated."""
    values = boundary_values(program.module, program.origin.argument_names)
    return {each.name: ", ".join(map(str, each.sharding.dims)) for each in values if each.sharding is not None}


def test_steps_have_ascending_priorities_and_costs(program: sdy.Program[Any]) -> None:
    applied = program.apply(
        sdy.shard("batch", dim=0, axis="data"),
        [sdy.shard("params.*.up", dim=1, axis="model"), sdy.shard("params[1]['down']", dim=0, axis="model")],
        mesh=MESH,
    )
    assert argument_dims(applied.program) == {
        "batch['x']": '{"data", ?}p0, {?}',
        "batch['y']": '{"data", ?}p0, {?}',
        "params[0]['up']": '{?}, {"model", ?}p1',
        "params[1]['up']": '{?}, {"model", ?}p1',
        "params[1]['down']": '{"model", ?}p1, {?}',
    }
    assert [each.values for each in applied.steps] == [0, 2, 3]
    assert [each.collectives for each in applied.steps] == [{}, {"all-reduce": 1}, {"all-reduce": 3}]
    times = [each.cost.op_seconds for each in applied.steps]
    assert times == sorted(times, reverse=True)
    assert all(each.agrees for each in applied.program.verify())


def test_a_dim_keeps_its_first_priority_and_a_bound_axis_is_skipped(program: sdy.Program[Any]) -> None:
    applied = program.apply(
        sdy.shard("batch.x", dim=0, axis="data"),
        sdy.shard("batch", dim=-2, axis="model"),
        sdy.shard("batch", dim=-1, axis="data"),
        mesh=MESH,
    )
    dims = argument_dims(applied.program)
    assert dims["batch['x']"] == '{"data", "model", ?}p0, {?}'
    assert dims["batch['y']"] == '{"model", ?}p1, {"data", ?}p2'
    assert [each.values for each in applied.steps] == [0, 1, 2, 1]


def test_a_replicated_value_is_not_sharded_by_propagation(program: sdy.Program[Any]) -> None:
    spread = program.apply(sdy.shard("batch.x", dim=0, axis="data"), mesh=MESH)
    kept = program.apply(sdy.shard("batch.x", dim=0, axis="data"), sdy.replicate("result['x']", axis="data"), mesh=MESH)
    results = [each.program.partition().boundary.results[1].sharding.dims[0].axes for each in (spread, kept)]
    assert results[0]
    assert not results[1]
    assert kept.steps[-1].collectives["all-gather"] == 1


def test_a_search_may_be_a_step() -> None:
    program = sdy.from_jax(
        step, [{"up": array(512, 2048), "down": array(2048, 512)}], {"x": array(8192, 512), "y": array(8192, 512)}
    )
    applied = program.apply(sdy.shard("batch.x", dim=0, axis="data"), sdy.search_rest(time_limit=20), mesh=MESH)
    assert applied.steps[2].tactics == "search the rest"
    assert applied.steps[2].cost.seconds_in_turn < 0.7 * applied.steps[1].cost.seconds_in_turn
    assert argument_dims(applied.program)["batch['x']"].startswith('{"data"')


def test_the_report_and_the_data_name_each_step(program: sdy.Program[Any]) -> None:
    applied = program.apply(sdy.shard("params.*.down", dim=1, axis="model"), mesh=MESH)
    text = applied.report()
    assert "1. shard params.*.down dim 1 along model" in text
    assert "as it was" in text
    data: Any = applied.to_json()
    assert data["mesh"] == {"data": 4, "model": 2}
    assert [each["values"] for each in data["steps"]] == [0, 2]
    assert data["steps"][1]["cost"]["peak_bytes"] == applied.steps[1].cost.peak_bytes


@pytest.mark.parametrize(
    ("tactic", "mesh", "code", "message"),
    [
        (sdy.shard("patch", dim=0, axis="data"), MESH, "SDY-T254", "no argument or result matches patch"),
        (sdy.shard("up", dim=0, axis="data"), MESH, "SDY-T254", "no argument or result matches up"),
        (sdy.shard("x", dim=0, axis="rows"), MESH, "SDY-T255", 'the mesh has no axis "rows"'),
        (sdy.shard("batch", dim=2, axis="data"), MESH, "SDY-T255", "batch['x'] has 2 dims"),
        (sdy.shard("batch", dim=0, axis="data"), "data=3", "SDY-T255", "size 16, which 3 shards do not divide"),
        (sdy.shard("batch", dim=0, axis="data"), None, "SDY-T253", "the program has no mesh"),
    ],
)
def test_a_tactic_that_cannot_be_applied_is_one_diagnostic(
    program: sdy.Program[Any], tactic: Tactic, mesh: str | None, code: str, message: str
) -> None:
    with pytest.raises(SdyError) as caught:
        program.apply(tactic, mesh=mesh)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message


def test_a_tactic_whose_axis_all_values_have_is_an_error(program: sdy.Program[Any]) -> None:
    rows = sdy.shard("batch.x", dim=0, axis="data")
    with pytest.raises(SdyError) as caught:
        program.apply(rows, rows, mesh=MESH)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-T255"
    assert diagnostic.message.endswith('already has axis "data"')
    assert diagnostic.hint == "a tactic must change at least one of the values that it matches"
    applied = program.apply(rows, sdy.shard("batch", dim=0, axis="data"), mesh=MESH)
    assert [step.values for step in applied.steps] == [0, 1, 1]
