# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Programs in plain JAX as people write them: dynamic programming, stencils, attention, clustering, augmentation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from support.library_programs.program import LibraryProgram

NEGATIVE = -1e9


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return an array of normally distributed float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sgd(loss: Callable[[Any, Any], Any], rate: float = 0.1) -> Callable[[Any, Any], Any]:
    """Return a training step: the new parameters and the loss."""

    def step(parameters: Any, data: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, data)
        return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), value

    return step


def dynamic_time_warping() -> LibraryProgram:
    """Align pairs of sequences: a dynamic program in a scan over rows of the table."""

    def cost(scale: Any, pair: Any) -> Any:
        a, b = pair

        def aligned(a: Any, b: Any) -> Any:
            def next_row(row: Any, x: Any) -> Any:
                distance = jnp.abs(x - b) * scale

                def next_cell(left: Any, above: Any) -> Any:
                    up, diagonal, here = above
                    cell = here + jnp.minimum(left, jnp.minimum(up, diagonal))
                    return cell, cell

                diagonal = jnp.concatenate([jnp.full(1, -NEGATIVE), row[:-1]])
                return lax.scan(next_cell, jnp.float32(-NEGATIVE), (row, diagonal, distance))[1], None

            first = jnp.cumsum(jnp.abs(a[0] - b) * scale)
            return lax.scan(next_row, first, a[1:])[0][-1]

        return jax.vmap(aligned)(a, b)

    return LibraryProgram(cost, np.float32(1.5), (normal(16, 12), normal(16, 8, seed=1)))


def ctc_loss() -> LibraryProgram:
    """Compute the loss of connectionist temporal classification, and its gradient, in a scan over time."""

    def loss(weights: Any, data: Any) -> Any:
        frames, labels = data
        scores = jax.nn.log_softmax(frames @ weights)
        blank = jnp.zeros_like(labels)
        extended = jnp.stack([blank, labels], -1).reshape(labels.shape[0], -1)

        def step(alpha: Any, score: Any) -> Any:
            emitted = jnp.take_along_axis(score, extended, axis=1)
            from_left = jnp.pad(alpha, ((0, 0), (1, 0)), constant_values=NEGATIVE)[:, :-1]
            return jnp.logaddexp(alpha, from_left) + emitted, None

        start = jnp.full(extended.shape, NEGATIVE).at[:, 0].set(0.0)
        final, _ = lax.scan(step, start, jnp.moveaxis(scores, 1, 0))
        return -jnp.mean(jnp.logaddexp(final[:, -1], final[:, -2]))

    labels = np.random.default_rng(1).integers(1, 8, (16, 4)).astype(np.int32)
    return LibraryProgram(sgd(loss), normal(16, 8) / 4, (normal(16, 12, 16), labels))


def flash_attention() -> LibraryProgram:
    """Compute attention block by block, in a scan over blocks of queries around one over blocks of keys."""

    def blocks(x: Any) -> Any:
        return jnp.moveaxis(x.reshape(x.shape[0], -1, 4, *x.shape[2:]), 1, 0)

    def attention(scale: Any, qkv: Any) -> Any:
        q, k, v = map(blocks, qkv)

        def for_queries(_: Any, query: Any) -> Any:
            def for_keys(carry: Any, block: Any) -> Any:
                top, total, out = carry
                key, value = block
                scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * scale
                new_top = jnp.maximum(top, scores.max(-1))
                weights, kept = jnp.exp(scores - new_top[..., None]), jnp.exp(top - new_top)
                out = out * kept[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, value)
                return (new_top, total * kept + weights.sum(-1), out), None

            batch, rows, heads, size = query.shape
            start = (
                jnp.full((batch, heads, rows), NEGATIVE),
                jnp.zeros((batch, heads, rows)),
                jnp.zeros((batch, heads, rows, size)),
            )
            (_, total, out), _ = lax.scan(for_keys, start, (k, v))
            return None, jnp.moveaxis(out / total[..., None], 1, 2)

        _, out = lax.scan(for_queries, None, q)
        return jnp.moveaxis(out, 0, 1).reshape(qkv[0].shape)

    return LibraryProgram(attention, np.float32(0.35), tuple(normal(8, 16, 4, 8, seed=seed) for seed in range(3)))


def convolutions_with_batch_norm() -> LibraryProgram:
    """Train a convolution net whose batch norm has running statistics as state."""

    def forward(parameters: Any, statistics: Any, images: Any) -> Any:
        x, updated = images, []
        for kernel, (mean, variance) in zip(parameters["kernels"], statistics, strict=True):
            x = lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            batch_mean, batch_variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
            updated.append((0.9 * mean + 0.1 * batch_mean, 0.9 * variance + 0.1 * batch_variance))
            x = jax.nn.relu((x - batch_mean) * lax.rsqrt(batch_variance + 1e-5))
        return x.mean((1, 2)) @ parameters["head"], updated

    def step(state: Any, data: Any) -> Any:
        parameters, statistics = state
        images, labels = data

        def loss(parameters: Any) -> Any:
            logits, updated = forward(parameters, statistics, images)
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
            return -chosen.mean(), updated

        gradients, updated = jax.grad(loss, has_aux=True)(parameters)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), updated

    kernels = [normal(3, 3, 8, 16) / 8, normal(3, 3, 16, 16, seed=1) / 12]
    statistics = [(np.zeros(16, np.float32), np.ones(16, np.float32))] * 2
    labels = np.random.default_rng(2).integers(0, 8, 16).astype(np.int32)
    parameters = {"kernels": kernels, "head": normal(16, 8)}
    return LibraryProgram(step, (parameters, statistics), (normal(16, 16, 16, 8), labels))


def semi_implicit_flow() -> LibraryProgram:
    """Advance a periodic flow: explicit advection, and implicit diffusion by the Fourier transform."""

    def step(viscosity: Any, velocity: Any) -> Any:
        def once(u: Any, _: Any) -> Any:
            slope = (jnp.roll(u, -1, 1) - jnp.roll(u, 1, 1)) / 2
            curved = (jnp.roll(u, -1, 2) - jnp.roll(u, 1, 2)) / 2
            explicit = u - 0.05 * u * (slope + curved)
            waves = jnp.fft.fftfreq(u.shape[1])[:, None] ** 2 + jnp.fft.fftfreq(u.shape[2]) ** 2
            solved = jnp.fft.fft2(explicit) / (1 + viscosity * waves)
            return jnp.fft.ifft2(solved).real, u.max()

        return lax.scan(once, velocity, None, length=3)

    return LibraryProgram(step, np.float32(0.1), normal(8, 16, 16))


def heat_stencil() -> LibraryProgram:
    """Advance the heat equation by a five-point stencil with fixed borders."""

    def steps(rate: Any, grid: Any) -> Any:
        def once(_: Any, u: Any) -> Any:
            inner = u[1:-1, 1:-1]
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].set(inner + rate * (around - 4 * inner))

        return lax.fori_loop(0, 4, once, grid)

    return LibraryProgram(steps, np.float32(0.1), normal(32, 32))


def game_of_life() -> LibraryProgram:
    """Play the game of life on a torus."""

    def play(_: Any, board: Any) -> Any:
        def turn(board: Any, _: Any) -> Any:
            shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
            neighbours = sum(jnp.roll(board, shift, (0, 1)) for shift in shifts)
            return jnp.where((neighbours == 3) | ((board == 1) & (neighbours == 2)), 1, 0), board.sum()

        return lax.scan(turn, board, None, length=4)

    return LibraryProgram(play, np.float32(0), (normal(32, 32) > 0).astype(np.int32))


def gradient_accumulation() -> LibraryProgram:
    """Accumulate the gradients of micro-batches in a scan, then update the parameters."""

    def loss(parameters: Any, data: Any) -> Any:
        x, y = data
        return ((jnp.tanh(x @ parameters["in"]) @ parameters["out"] - y) ** 2).mean()

    def step(parameters: Any, data: Any) -> Any:
        micro = jax.tree.map(lambda x: x.reshape(4, -1, *x.shape[1:]), data)

        def add(total: Any, batch: Any) -> Any:
            return jax.tree.map(jnp.add, total, jax.grad(loss)(parameters, batch)), None

        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, parameters), micro)
        return jax.tree.map(lambda p, g: p - 0.1 * g / 4, parameters, total)

    parameters = {"in": normal(16, 64) / 4, "out": normal(64, 16, seed=1) / 8}
    return LibraryProgram(step, parameters, (normal(64, 16, seed=2), normal(64, 16, seed=3)))


def sinkhorn() -> LibraryProgram:
    """Compute an entropic transport plan between points by alternating scaling."""

    def plan(temperature: Any, points: Any) -> Any:
        a, b = points
        cost = ((a[:, None] - b[None]) ** 2).sum(-1) / temperature

        def once(_: Any, potentials: Any) -> Any:
            f, g = potentials
            f = -jax.nn.logsumexp(g[None, :] - cost, 1)
            return f, -jax.nn.logsumexp(f[:, None] - cost, 0)

        f, g = lax.fori_loop(0, 5, once, (jnp.zeros(len(a)), jnp.zeros(len(b))))
        return jnp.exp(f[:, None] + g[None, :] - cost)

    return LibraryProgram(plan, np.float32(4), (normal(32, 4), normal(32, 4, seed=1)))


def k_means() -> LibraryProgram:
    """Move centers to the means of the points that are nearest to them."""

    def steps(centers: Any, points: Any) -> Any:
        def once(_: Any, centers: Any) -> Any:
            distances = ((points[:, None] - centers[None]) ** 2).sum(-1)
            nearest = distances.argmin(1)
            sums = jax.ops.segment_sum(points, nearest, len(centers))
            counts = jax.ops.segment_sum(jnp.ones(len(points)), nearest, len(centers))
            return sums / jnp.maximum(counts, 1)[:, None]

        return lax.fori_loop(0, 3, once, centers)

    return LibraryProgram(steps, normal(8, 4), normal(128, 4, seed=1))


def image_augmentation() -> LibraryProgram:
    """Flip, crop and brighten each image of a batch at random."""

    def augment(key: Any, images: Any) -> Any:
        def one(key: Any, image: Any) -> Any:
            flip, crop, light = jax.random.split(key, 3)
            image = jnp.where(jax.random.bernoulli(flip), image[:, ::-1], image)
            padded = jnp.pad(image, ((2, 2), (2, 2), (0, 0)))
            corner = jax.random.randint(crop, (2,), 0, 5)
            image = lax.dynamic_slice(padded, (corner[0], corner[1], 0), image.shape)
            return jnp.clip(image * jax.random.uniform(light, (), minval=0.5, maxval=1.5), 0, 1)

        keys = jax.random.split(jax.random.wrap_key_data(key), len(images))
        return jax.vmap(one)(keys, images)

    return LibraryProgram(augment, np.array([1, 2], np.uint32), np.abs(normal(16, 16, 16, 4)))


def dilated_convolutions() -> LibraryProgram:
    """Apply causal convolutions with growing dilation, as in WaveNet, and train them."""

    def loss(kernels: Any, sound: Any) -> Any:
        x = sound
        for index, kernel in enumerate(kernels):
            dilation = 2**index
            y = lax.conv_general_dilated(
                x, kernel, (1,), [(dilation, 0)], rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC")
            )
            x = x + jnp.tanh(y)
        return (x[:, :-1] - sound[:, 1:]).var()

    return LibraryProgram(sgd(loss), [normal(2, 8, 8, seed=seed) / 4 for seed in range(3)], normal(8, 32, 8))


def rolled_rows() -> LibraryProgram:
    """Roll and reverse a dim."""

    def rolled(shift: Any, x: Any) -> Any:
        return jnp.roll(x, 3, axis=0) + shift, x[::-1], jnp.roll(x, 3, axis=0) * x[::-1]

    return LibraryProgram(rolled, np.float32(1), normal(32, 16))


def reshaped_heads() -> LibraryProgram:
    """Split features into heads and groups, and merge the batch with the sequence."""

    def projected(weights: Any, x: Any) -> Any:
        heads = (x @ weights).reshape(*x.shape[:2], 8, 4)
        grouped = heads.reshape(*x.shape[:2], 2, 4, 4).sum(2)
        return heads.reshape(-1, 32), grouped, jnp.swapaxes(heads, 1, 2).reshape(-1, x.shape[1], 4)

    return LibraryProgram(projected, normal(16, 32), normal(8, 16, 16))


def mixture_of_experts() -> LibraryProgram:
    """Train experts to which a router sends each token, up to a capacity."""

    def forward(parameters: Any, x: Any) -> Any:
        tokens = x.reshape(-1, x.shape[-1])
        gates = jax.nn.softmax(tokens @ parameters["router"])
        chosen = jax.nn.one_hot(gates.argmax(-1), gates.shape[-1])
        position = (jnp.cumsum(chosen, 0) - 1) * chosen
        dispatch = chosen[..., None] * jax.nn.one_hot(position.sum(-1).astype(int), 24)[:, None]
        inputs = jnp.einsum("tec,td->ecd", dispatch, tokens)
        hidden = jax.nn.relu(jnp.einsum("ecd,edf->ecf", inputs, parameters["in"]))
        outputs = jnp.einsum("ecf,efd->ecd", hidden, parameters["out"])
        return jnp.einsum("tec,ecd,te->td", dispatch, outputs, gates).reshape(x.shape)

    def loss(parameters: Any, x: Any) -> Any:
        return ((forward(parameters, x) - x) ** 2).mean()

    parameters = {"router": normal(16, 8), "in": normal(8, 16, 32) / 4, "out": normal(8, 32, 16, seed=1) / 6}
    return LibraryProgram(sgd(loss), parameters, normal(8, 8, 16), has_experts=True)


def decoding_with_cache() -> LibraryProgram:
    """Decode tokens one by one in a loop, with a cache of keys and values."""

    def decode(state: Any, tokens: Any) -> Any:
        embedding, weights = state["embedding"], state["weights"]

        def once(index: Any, carry: Any) -> Any:
            cache, token = carry
            q, k, v = (embedding[token] @ weight for weight in weights)
            keys = lax.dynamic_update_slice(cache[0], k[:, None], (0, index, 0))
            values = lax.dynamic_update_slice(cache[1], v[:, None], (0, index, 0))
            scores = jnp.where(jnp.arange(keys.shape[1]) <= index, jnp.einsum("bd,bld->bl", q, keys), NEGATIVE)
            out = jnp.einsum("bl,bld->bd", jax.nn.softmax(scores), values)
            return (keys, values), (out @ embedding.T).argmax(-1).astype(np.int32)

        return lax.fori_loop(0, 4, once, (state["cache"], tokens))

    cache = tuple(np.zeros((8, 16, 16), np.float32) for _ in range(2))
    weights = [normal(16, 16, seed=seed) / 4 for seed in range(3)]
    state = {"embedding": normal(32, 16), "weights": weights, "cache": cache}
    return LibraryProgram(decode, state, np.arange(8, dtype=np.int32))


def power_iteration() -> LibraryProgram:
    """Find the largest eigenvalue of a matrix by iteration until it converges."""

    def largest(start: Any, matrix: Any) -> Any:
        symmetric = matrix @ matrix.T

        def once(carry: Any) -> Any:
            vector, _, value, count = carry
            product = symmetric @ vector
            return product / jnp.linalg.norm(product), value, vector @ product, count + 1

        def goes_on(carry: Any) -> Any:
            return (jnp.abs(carry[2] - carry[1]) > 1e-3 * jnp.abs(carry[2])) & (carry[3] < 100)

        return lax.while_loop(goes_on, once, (start, jnp.float32(0), jnp.float32(1), 0))[2]

    return LibraryProgram(largest, np.ones(32, np.float32) / 6, normal(32, 16))


def conjugate_gradients() -> LibraryProgram:
    """Solve a linear system with the solver of JAX."""

    def solve(diagonal: Any, rows: Any) -> Any:
        def apply(x: Any) -> Any:
            return rows.T @ (rows @ x) + diagonal * x

        return partial(jax.scipy.sparse.linalg.cg, maxiter=5)(apply, jnp.ones(16))[0]

    return LibraryProgram(solve, np.full(16, 10, np.float32), normal(64, 16))
