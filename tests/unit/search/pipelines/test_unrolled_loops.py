"""A loop over layers, unrolled, computes the same, and its pipeline is that of the layers one after the other."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdy
from sdy.dialects.ir.symbols import main_block
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context
from sdy.dialects.stablehlo.control import WhileOp
from sdy.model.mesh import Mesh
from sdy.passes.run import run_passes
from sdy.passes.simplify.composite_to_call import CompositeToCallPass
from sdy.passes.simplify.inline import InlinePass
from sdy.program.program import Program
from sdy.search.pipelines.unrolled_loops import unrolled_loops
from sdy.search.searched_module import without_shardings

LAYERS, WIDTH, ROWS = 4, 8, 16
Weights = dict[str, Any]
Step = Callable[..., Any]


def layer(x: jax.Array, w: Weights) -> jax.Array:
    return x + jnp.tanh(x @ w["up"]) @ w["down"]


computed_again = jax.checkpoint(layer)


def loss(weights: Weights, x: jax.Array, one: Step = computed_again) -> jax.Array:
    """Scan over the layers, which are computed again in the backward pass by default."""
    end, _ = jax.lax.scan(lambda x, w: (one(x, w), None), x, weights)
    return jnp.mean(end * end)


def loss_one_by_one(weights: list[Weights], x: jax.Array) -> jax.Array:
    for each in weights:
        x = layer(x, each)
    return jnp.mean(x * x)


def sgd(weights: Any, x: jax.Array, loss: Step = loss) -> Any:
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, x))


def clipped_momentum(weights: Weights, momentum: Weights, x: jax.Array) -> tuple[Weights, Weights]:
    """Divide gradients by their norm: what belongs to a layer depends on all of them."""
    gradients = jax.grad(loss)(weights, x)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(each)) for each in jax.tree.leaves(gradients)))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g / jnp.maximum(norm, 1.0), momentum, gradients)
    return jax.tree.map(lambda w, m: w - 0.1 * m, weights, momentum), momentum


def outputs_of_layers(weights: Weights, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a row of each layer, and the sum of all weights of a layer that is used as a whole too."""
    _, rows = jax.lax.scan(lambda x, w: ((y := layer(x, w)), y[0]), x, weights)
    return rows, jnp.sum(weights["up"], axis=(0, 1))


def weights_of(draw: Callable[..., Any]) -> Weights:
    return {"up": draw(LAYERS, WIDTH, 2 * WIDTH), "down": draw(LAYERS, 2 * WIDTH, WIDTH)}


def inlined(program: Program[Any]) -> Any:
    module = without_shardings(program.module, Mesh(()))
    passes = [CompositeToCallPass(), InlinePass(default_pipeline="")]
    run_passes(make_context(), module, passes, verify_each=False)
    return module


def joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate([each.ravel() for each in arrays])


@pytest.mark.parametrize("step", [sgd, clipped_momentum, outputs_of_layers])
def test_an_unrolled_program_computes_the_same(step: Step) -> None:
    random = np.random.default_rng(0)

    def draw(*sizes: int) -> Any:
        return random.standard_normal(sizes).astype(np.float32)

    trees = [weights_of(draw) for _ in range(2 if step is clipped_momentum else 1)]
    arguments = [*jax.tree.leaves(trees), draw(ROWS, WIDTH)]
    program = sdy.from_jax(jax.jit(step), *trees, arguments[-1])
    found, origins = unrolled_loops(inlined(program))
    assert not any(isinstance(op, WhileOp) for op in pre_order(found))
    seen = dict.fromkeys(origins, 0)
    inputs: list[Any] = []
    for index, argument in zip(origins, main_block(found).args, strict=True):
        is_whole = argument.type == main_block(program.module).args[index].type
        inputs.append(arguments[index] if is_whole else arguments[index][seen[index]][None])
        seen[index] += 1
    results = Program.from_module(found).run_flat(inputs)
    expected = program.run_flat(arguments)
    joined, wanted = (
        np.concatenate([each.astype(np.float32).ravel() for each in all_]) for all_ in (results, expected)
    )
    np.testing.assert_allclose(joined, wanted, rtol=1e-5, atol=1e-6)


def test_a_loop_over_microbatches_is_no_loop_over_layers() -> None:
    def accumulated(weights: Weights, batches: jax.Array) -> Weights:
        def one(total: Weights, x: jax.Array) -> tuple[Weights, None]:
            return jax.tree.map(jnp.add, total, jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w["up"])))(weights)), None

        return jax.lax.scan(one, jax.tree.map(jnp.zeros_like, weights), batches)[0]

    shape = jax.ShapeDtypeStruct
    program = sdy.from_jax(jax.jit(accumulated), {"up": shape((64, 64), jnp.float32)}, shape((4, 8, 64), jnp.float32))
    module = inlined(program)
    assert unrolled_loops(module)[0] is module


def masked_layer(x: jax.Array, w: Weights) -> jax.Array:
    """Return a layer with a mask that is larger than all weights."""
    mask = jnp.broadcast_to(jnp.tri(64) > 0, (ROWS, 64, 64))
    scores = jnp.where(mask, jnp.einsum("ra,rb->rab", x @ w["up"], x @ w["gate"]), 0)
    return x + jnp.einsum("rab,bc->rc", scores, w["down"])


def test_a_mask_is_no_weight_that_the_iterations_of_a_loop_share() -> None:
    shape = jax.ShapeDtypeStruct
    weights = {"up": shape((LAYERS, WIDTH, 64), "float32"), "gate": shape((LAYERS, WIDTH, 64), "float32")}
    weights |= {"down": shape((LAYERS, 64, WIDTH), "float32")}
    step = partial(sgd, loss=partial(loss, one=masked_layer))
    program = sdy.from_jax(jax.jit(step), weights, shape((ROWS, WIDTH), "float32"))
    found, _ = unrolled_loops(inlined(program))
    assert not any(isinstance(op, WhileOp) for op in pre_order(found))


def test_a_loop_over_layers_has_the_pipeline_of_the_layers_one_by_one() -> None:
    def shape(*sizes: int) -> Any:
        return jax.ShapeDtypeStruct((*sizes[:-2], *(64 * size for size in sizes[-2:])), jnp.bfloat16)

    stacked = weights_of(shape)
    layers = [jax.tree.map(lambda w: shape(*(size // 64 for size in w.shape[1:])), stacked) for _ in range(LAYERS)]
    programs = [
        sdy.from_jax(jax.jit(partial(sgd, loss=partial(loss, one=layer))), stacked, shape(ROWS, WIDTH)),
        sdy.from_jax(jax.jit(partial(sgd, loss=loss_one_by_one)), layers, shape(ROWS, WIDTH)),
    ]
    looped, single = (each.search(stages="2,4", microbatches="4,8", mesh="x=2", on="h100") for each in programs)
    assert (looped.layers, looped.schedule, looped.microbatches) == (
        single.layers,
        single.schedule,
        single.microbatches,
    )
    # In a loop, JAX computes more of the derivatives in the forward pass.
    assert looped.cost.seconds == pytest.approx(single.cost.seconds, rel=0.1)
    assert looped.cost.peak_bytes == pytest.approx(single.cost.peak_bytes, rel=0.2)
    assert looped.in_shardings.keys() == {"weights['down']", "weights['up']", "x"}
    assert "# with the layers of the loop written one after the other" in looped.code
    assert "of the loop" not in single.code
