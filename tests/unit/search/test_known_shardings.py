"""The search finds the shardings that experts use, for shapes at which they pay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import sdy
from sdy.cost.hardware import Torus
from sdy.cost.machines.table import HARDWARE
from sdy.search.plans.plan import ShardingPlan

Plan = ShardingPlan[sdy.Program[Any]]


def array(*shape: int, dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def kinds(plan: Plan) -> dict[str, int]:
    """Return how often each kind of collective runs."""
    found: dict[str, int] = {}
    for each in plan.cost.collectives:
        found[each.kind.value] = found.get(each.kind.value, 0) + each.runs
    return found


def mlp(x: Any, up: Any, down: Any) -> Any:
    return jax.nn.relu(x @ up) @ down


def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bshk,bthk->bhst", q, k).astype(jnp.float32)
    return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhst,bthk->bshk", jax.nn.softmax(scores).astype(x.dtype), v), wo)


def experts(x: Any, gate: Any, up: Any, down: Any) -> Any:
    """A mixture of experts with a capacity, in which einsums dispatch tokens and combine results."""
    capacity = x.shape[1] // up.shape[0] * 2
    chosen = jax.nn.one_hot(jnp.argmax(x @ gate, -1), up.shape[0], dtype=x.dtype)
    position = (jnp.cumsum(chosen, 1) * chosen - 1).astype(jnp.int32).max(-1)
    dispatch = jnp.einsum("bse,bsc->bsec", chosen, jax.nn.one_hot(position, capacity, dtype=x.dtype))
    hidden = jax.nn.relu(jnp.einsum("ebcd,edf->ebcf", jnp.einsum("bsec,bsd->ebcd", dispatch, x), up))
    return jnp.einsum("bsec,ebcd->bsd", dispatch, jnp.einsum("ebcf,efd->ebcd", hidden, down))


def convolutions(x: Any, kernel: Any) -> Any:
    for _ in range(2):
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return x


def test_an_mlp_with_large_weights_is_sharded_by_column_then_row() -> None:
    program = sdy.from_jax(mlp, array(64, 8192), array(8192, 32768), array(32768, 8192))
    plan = program.search(mesh="model=8", fix={"x": "P()", "result": "P()"})
    assert plan.in_shardings == {"x": "P(None, None)", "up": "P(None, 'model')", "down": "P('model', None)"}
    assert kinds(plan) == {"all-reduce": 1}
    assert plan.gap is not None
    assert plan.gap < 1e-6


def test_an_mlp_with_large_activations_is_sharded_by_batch() -> None:
    program = sdy.from_jax(mlp, array(65536, 1024), array(1024, 4096), array(4096, 1024))
    plan = program.search(mesh="data=8")
    assert plan.program.partition().boundary.arguments[0].sharding.dims[0].axes
    assert kinds(plan) == {}


def test_weights_are_sharded_by_the_data_axis_only_if_memory_forces_it() -> None:
    """Fully sharded data parallelism (FSDP): weights are gathered where they are used."""

    def layers(params: Any, x: Any) -> Any:
        for weight in params:
            x = jnp.tanh(x @ weight)
        return x

    program = sdy.from_jax(layers, [array(4096, 4096)] * 8, array(8192, 4096))
    batch = {"x": "P('data')"}
    plenty = program.search(mesh="data=8", fix=batch)
    assert plenty.cost.fits
    assert sharded_weights(plenty) == 0
    assert "all-gather" not in kinds(plenty)
    tight = program.search(mesh="data=8", fix=batch, memory=0.9 * plenty.cost.peak_bytes)
    assert tight.cost.fits
    assert 0 < sharded_weights(tight) <= kinds(tight)["all-gather"]


def sharded_weights(plan: Plan) -> int:
    return sum("data" in spec for name, spec in plan.in_shardings.items() if name.startswith("params"))


def test_a_tied_embedding_is_sharded_by_vocabulary() -> None:
    def logits(embedding: Any, x: Any, tokens: Any) -> Any:
        return jax.nn.logsumexp(((embedding[tokens] + x) @ embedding.T).astype(jnp.float32), -1)

    program = sdy.from_jax(logits, array(131072, 2048), array(8, 128, 2048), array(8, 128, dtype=jnp.int32))
    # The tokens alone could be sharded, if each device had the memory for the whole embedding.
    plan = program.search(mesh="model=8", fix={"x": "P()"}, memory="300MB")
    assert plan.in_shardings["embedding"] == "P('model', None)"


def test_experts_are_sharded_and_tokens_exchanged() -> None:
    program = sdy.from_jax(
        experts, array(64, 512, 1024), array(1024, 16), array(16, 1024, 16384), array(16, 16384, 1024)
    )
    plan = program.search(mesh="expert=8", fix={"x": "P('expert')", "result": "P('expert')"}, memory="1GB")
    assert plan.cost.fits
    assert [plan.in_shardings[name] for name in ("up", "down")] == ["P('expert', None, None)"] * 2
    assert kinds(plan) == {"all-to-all": 2}


def test_attention_with_large_weights_is_sharded_by_heads() -> None:
    weights = [array(8192, 64, 128)] * 3
    program = sdy.from_jax(attention, array(1, 512, 8192), *weights, array(64, 128, 8192))
    plan = program.search(mesh="model=8", fix={"x": "P()", "result": "P()"})
    assert [plan.in_shardings[name] for name in ("wq", "wk", "wv")] == ["P(None, 'model', None)"] * 3


def test_a_long_context_is_sharded_by_sequence() -> None:
    program = sdy.from_jax(attention, array(1, 16384, 1024), *[array(1024, 4, 128)] * 3, array(4, 128, 1024))
    plan = program.search(mesh="model=8")
    assert plan.out_shardings == {"result": "P(None, 'model', None)"}
    # Every device computes all keys and values.
    assert plan.before.seconds_in_turn > 5 * plan.cost.seconds_in_turn


def test_a_large_convolution_is_sharded_in_space_with_halos() -> None:
    program = sdy.from_jax(convolutions, array(1, 2048, 2048, 128), array(3, 3, 128, 128))
    plan = program.search(mesh="space=8")
    assert plan.in_shardings["x"] in ("P(None, 'space', None, None)", "P(None, None, 'space', None)")
    assert set(kinds(plan)) == {"collective-permute"}


def test_a_small_program_is_not_sharded() -> None:
    plan = sdy.from_jax(mlp, array(8, 16), array(16, 16), array(16, 16)).search(mesh="x=8")
    assert plan.in_shardings == plan.out_shardings == {}
    assert plan.constraints == []
    assert "x" in plan.report()


@pytest.mark.slow
def test_the_best_mesh_of_eight_devices_has_a_data_axis_as_large() -> None:
    program = sdy.from_jax(mlp, array(65536, 1024), array(1024, 4096), array(4096, 1024))
    plan = program.search(devices=8)
    assert plan.mesh.device_count == 8
    assert plan.before.seconds_in_turn > 7.5 * plan.cost.seconds_in_turn


def test_with_overlap_communication_that_computation_hides_costs_nothing() -> None:
    # Without names, so that the plan is for the partition of sdy, with constraints inside.
    program = sdy.Program.from_text(str(sdy.from_jax(mlp, array(1024, 8192), array(8192, 32768), array(32768, 8192))))
    fixed = {"%arg0": "P('model')", "result": "P()"}
    machine = HARDWARE["tpu_v5e"].ideal()
    assert isinstance(machine.network, Torus)
    line = replace(machine, network=replace(machine.network, axis_count=1))
    plans = [program.search(mesh="model=8", fix=fixed, overlap=overlap, on=line) for overlap in (False, True)]
    assert plans[1].cost.seconds_overlapped < 0.8 * plans[0].cost.seconds_overlapped
    assert plans[1].gap is None  # the bound of the network is one without overlap
    assert "if all overlaps" in plans[1].report()
