"""Programs of several meshes from JAX: names, microbatches, gradients, and runs on JAX devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from support.jax_programs.pipelined_step import (
    MICROBATCHES,
    all_devices,
    arguments,
    config,
    loss,
    lowered_step,
    step,
    topology,
)

import sdy
from sdy import mpmd

pytestmark = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


@pytest.fixture(scope="module")
def lowered() -> mpmd.Lowered[Any]:
    """The train step on two meshes; a weight is sharded."""
    return lowered_step()


def close(found: Any, expected: Any) -> bool:
    trees = (jax.tree.leaves(each) for each in (found, expected))
    pairs = zip(*trees, strict=True)
    return all(np.allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6) for one, other in pairs)


def test_names_survive_differentiation(lowered: mpmd.Lowered[Any]) -> None:
    text = lowered.as_text("stablehlo")
    for name in ('"lower"', '"lower"(1)', '"upper"', '"upper"(1)'):
        assert text.count(f"mpmd.named_computation<{name}> ") == 1
    assert text.count('mpmd.named_tensor %1#0 name="cut"') + text.count('name="cut"') >= 2
    assert [f"call_counter = {number} : ui32" in text for number in range(MICROBATCHES)] == [True] * MICROBATCHES
    assert "sdy.mpmd." not in text
    exported = lowered.as_text()
    (signature,) = [line for line in exported.splitlines() if "func.func public @main" in line]
    assert 'sharding=<@mesh, [{}, {"x"}]>' in signature.split(" -> ")[1]  # propagated through fragments
    assert exported.count("mpmd.fragment_call<mesh=") == 4 * MICROBATCHES


def test_the_step_computes_what_jax_does(lowered: mpmd.Lowered[Any]) -> None:
    wanted = cast("dict[str, jax.Array]", jax.jit(step)(*arguments()))
    assert close(lowered.pipeline.run(*arguments()), wanted)
    assert lowered.pipeline.verify().agrees
    assert lowered.pipeline.prove().agrees


def test_the_step_runs_on_jax_devices(lowered: mpmd.Lowered[Any]) -> None:
    found = lowered.compile()(*arguments())
    assert close(found, jax.jit(step)(*arguments()))
    assert found["a"].sharding.device_set == set(all_devices()[:4])
    assert found["b"].sharding.device_set == set(all_devices()[4:8])


def test_a_wrapped_function_can_be_called() -> None:
    wrapped = mpmd.jit(loss, config())
    params, xs, targets = arguments()
    assert close(wrapped(params, xs[0], targets[0]), loss(params, xs[0], targets[0]))


def in_order(first: Any, second: Any) -> bool:
    return first.call_counter < second.call_counter


@pytest.mark.parametrize("schedule", ["ZB-H1", in_order])
def test_schedules_by_name_and_by_function(schedule: Any) -> None:
    found = mpmd.jit(step, config(pipeline_schedule=schedule)).lower(*arguments())
    assert found.pipeline.verify().agrees
    labels = [slot.label for slot in found.pipeline.cost("h100").slots if slot.place == "m1"]
    assert ("W0" in labels) == (schedule == "ZB-H1")


def test_loops_and_calls_are_plain_jax_elsewhere() -> None:
    def body(number: Any, value: jax.Array) -> jax.Array:
        return mpmd.broadcast(value) + number

    def looped(value: jax.Array) -> jax.Array:
        return mpmd.reduce(mpmd.fori_loop(3, body, value)).sum()

    def named(each: jax.Array) -> jax.Array:
        return mpmd.named_tensor(each, "t")

    value = jnp.ones(4)
    assert looped(value) == jax.jit(looped)(value) == 4 * (1 + 3)
    assert close(jax.grad(looped)(value), jnp.ones(4))
    assert close(jax.vmap(named)(value), value)
    assert "sdy.mpmd.tensor" in sdy.from_jax(named, value).origin.text


def test_inputs_and_outputs_are_placed() -> None:
    inputs = ({"a": "m0", "b": None}, "m0", "m1")
    placed = config(input_mesh_assignment=inputs, output_mesh_assignment="m1")
    text = mpmd.jit(loss, placed).lower(*[arguments()[0], arguments()[1][0], arguments()[2][0]]).as_text()
    (signature,) = [line for line in text.splitlines() if "func.func public @main" in line]
    meshes = [part.split('"')[1] for part in signature.split("attributes {topology")[0].split("mesh_tensor<")[1:]]
    assert meshes == ["m0", "m1", "m0", "m1", "m1"]


def test_static_arguments_are_no_arrays() -> None:
    def scaled(x: jax.Array, how: str) -> jax.Array:
        return x * 2 if how == "twice" else x

    named = mpmd.named_computation(scaled, name="f", static_argnames="how")
    assert close(named(jnp.ones(2), "twice"), 2 * jnp.ones(2))
    assert close(named(jnp.ones(2), how="once"), jnp.ones(2))


def different(number: Any, value: jax.Array) -> jax.Array:
    return jnp.concatenate([value, value])


def pair(number: Any, value: Any) -> Any:
    return value, value


def same(carry: Any, number: Any, value: Any) -> Any:
    return carry


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: mpmd.named_computation(different, name="main"), 'are not allowed to have "main"'),
        (lambda: mpmd.named_computation(different, name="partir.x"), "are reserved for the compiler"),
        (lambda: mpmd.call(different, call_counter=-1), "call_counter must be non-negative"),
        (lambda: mpmd.fori_loop(2, different, jnp.ones(2)), "Input and output avals must match"),
        (lambda: mpmd.fori_loop(2, pair, jnp.ones(2)), "Tree structs of init_val"),
        (lambda: mpmd.enumerated_for(same, 0, jnp.ones(2)), "to be Sequences"),
        (lambda: mpmd.enumerated_for(same, 0, ([jnp.ones(2)], [jnp.ones(2)] * 2)), "same length"),
        (lambda: mpmd.make_config({}, {}), "must have at least one mesh"),
        (lambda: mpmd.make_config({"m@": None}, {}), "is reserved"),
        (lambda: mpmd.make_config(topology(), {"f": "m7"}), "Invalid mesh name"),
        (lambda: mpmd.make_config(topology(), {}, name_to_stage_assignment={"f": -1}), "Stage ids"),
        (lambda: mpmd.make_config(topology(), {}, partitioning_options={"x": True}), "unsupported options"),
        (
            lambda: mpmd.make_config(topology(), {}, partitioning_options={"mpmd_fragment_remat": "yes"}),
            "is not a boolean",
        ),
    ],
)
def test_wrong_calls(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wrong()


def test_shardings_on_a_mesh_of_another_shape() -> None:
    other = NamedSharding(jax.sharding.Mesh(np.array(all_devices()[:2]), ("z",)), PartitionSpec("z"))
    with pytest.raises(ValueError, match="Sharding mismatch"):
        mpmd.jit(loss, config(), out_shardings=other).lower(*[arguments()[0], arguments()[1][0], arguments()[2][0]])


def four_layers(params: list[jax.Array], x: jax.Array) -> jax.Array:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w)

    for number, weight in enumerate(params):
        x = mpmd.named_computation(layer, name=f"layer{number}")(x, weight)
    return jnp.mean(x**2)


def four_layer_step(params: list[jax.Array], xs: list[jax.Array]) -> list[jax.Array]:
    def microbatch(sums: list[jax.Array], _number: Any, x: jax.Array) -> list[jax.Array]:
        gradients = cast("list[jax.Array]", jax.grad(four_layers)(params, x))
        return [total + each for total, each in zip(sums, gradients, strict=True)]

    sums = mpmd.enumerated_for(microbatch, [jnp.zeros_like(param) for param in params], xs)
    return [param - 0.1 * each for param, each in zip(params, sums, strict=True)]


@pytest.mark.parametrize("schedule", ["DualPipeV", "Interleaved1F1B"])
def test_two_stages_on_each_mesh_and_a_plain_update(schedule: str) -> None:
    """The update of the weights has no name, and is merged only after the stages of each mesh are ordered."""
    meshes = ("m0", "m1", "m1", "m0") if schedule == "DualPipeV" else ("m0", "m1", "m0", "m1")
    options = mpmd.make_config(
        topology(),
        {f"layer{number}": mesh for number, mesh in enumerate(meshes)},
        name_to_stage_assignment={f"layer{number}": number for number in range(4)},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=schedule,
    )
    _, xs, targets = arguments()
    found = mpmd.jit(four_layer_step, options).lower([jnp.eye(8)] * 4, xs + targets)
    assert found.pipeline.verify().agrees
    assert "mpmd.fragment_call" in found.as_text()
