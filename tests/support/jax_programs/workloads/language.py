# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
"""Attention, mixtures of experts, state spaces and decoding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from support.jax_programs.workloads.workload import floats, integers, workload

QUERIES = floats((8, 4, 32, 16), "data", "model")
KEYS = floats((8, 4, 64, 16), "data", "model")
ALONG_POSITIONS = floats((8, 4, 64, 16), "data", None, "model")


@workload(QUERIES, KEYS, KEYS, xla_bytes=0)
def attention_by_blocks(queries: Any, keys: Any, values: Any) -> Any:
    """Attend to a block of keys at a time, with a running maximum."""

    def attend(carried: Any, block: Any) -> Any:
        largest, total, out, number = carried
        scores = jnp.einsum("bhqd,bhkd->bhqk", queries, block[0]) / 4
        is_seen = number * 16 + jnp.arange(16) <= jnp.arange(32)[:, None] + 32
        scores = jnp.where(is_seen, scores, -1e9)
        new = jnp.maximum(largest, scores.max(-1))
        weights, rest = jnp.exp(scores - new[..., None]), jnp.exp(largest - new)
        out = out * rest[..., None] + jnp.einsum("bhqk,bhkd->bhqd", weights, block[1])
        return (new, total * rest + weights.sum(-1), out, number + 1), None

    blocks = [x.reshape(8, 4, 4, 16, 16).transpose(2, 0, 1, 3, 4) for x in (keys, values)]
    start = jnp.full((8, 4, 32), -jnp.inf), jnp.zeros((8, 4, 32)), jnp.zeros((8, 4, 32, 16)), 0
    (_, total, out, _), _ = lax.scan(attend, start, tuple(blocks))
    return out / total[..., None]


@workload(ALONG_POSITIONS, ALONG_POSITIONS, ALONG_POSITIONS, xla_bytes=32_768)
def attention_of_sharded_positions(queries: Any, keys: Any, values: Any) -> Any:
    """Attend to earlier positions, which are sharded."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", queries, keys) / 4
    scores = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), values)


@workload(floats((8, 16, 32), "data", None, "model"), floats((4, 8, 2, 8)), xla_bytes=2_048)
def rotated_grouped_attention(x: Any, weight: Any) -> Any:
    """Rotate queries and keys by complex numbers; two heads share their keys."""
    angles = jnp.outer(jnp.arange(16), 1 / 10_000 ** (jnp.arange(4) / 4))

    def rotated(heads: Any) -> Any:
        turned = lax.complex(heads[..., ::2], heads[..., 1::2]) * jnp.exp(1j * angles)[None, :, None, :]
        return jnp.stack([turned.real, turned.imag], -1).reshape(heads.shape)

    queries = x.reshape(8, 16, 4, 8)
    keys = jnp.repeat(rotated(jnp.einsum("bshd,hdge->bsge", queries, weight)), 2, 2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotated(queries), keys)
    scores = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), keys).reshape(8, 16, 32)


@workload(
    floats((8, 64, 4, 8), "data", None, "model"),
    floats((8, 4, 8), "data", "model"),
    integers((8,), "data"),
    xla_bytes=0,
)
def decode_at_own_positions(cache: Any, new: Any, positions: Any) -> Any:
    """Write keys to a cache, at one position per sequence, and attend to those up to it."""
    positions = positions % 64

    def updated(cache: Any, new: Any, position: Any) -> Any:
        return lax.dynamic_update_slice(cache, new[None], (position, 0, 0))

    cache = jax.vmap(updated)(cache, new, positions)
    scores = jnp.einsum("bhd,bkhd->bhk", new, cache)
    is_seen = jnp.arange(64)[None] <= positions[:, None]
    scores = jnp.where(is_seen[:, None], scores, -1e9)
    return cache, jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores), cache)


@workload(floats((64, 32, 64), "data", None, "model"), floats((64, 64)), xla_bytes=571_520)
def gradient_of_a_random_field(scores: Any, transitions: Any) -> Any:
    """Differentiate the forward pass over a chain of labels, whose loop stores a value of every pair of labels."""

    def loss(scores: Any, transitions: Any) -> Any:
        def step(before: Any, score: Any) -> tuple[Any, None]:
            return jax.nn.logsumexp(before[:, :, None] + transitions + score[:, None], axis=1), None

        last, _ = lax.scan(step, scores[:, 0], scores.transpose(1, 0, 2)[1:])
        return jax.nn.logsumexp(last, axis=1).sum()

    return jax.grad(loss, (0, 1))(scores, transitions)


@workload(floats((8, 64, 128), None, "data"), floats((128, 50), None, "model"), xla_bytes=16_384)
def logits_of_the_last_position(x: Any, weight: Any) -> Any:
    """Multiply the last of sharded positions, and return the first one."""
    return x[:, -1] @ weight, x[:, 0]


@workload(floats((8, 128), "data"), floats((128, 64), "model"), integers((8,), "data"), xla_bytes=4_608)
def windows_at_own_positions(x: Any, weight: Any, starts: Any) -> Any:
    """Take a window of each sequence."""
    return jax.vmap(lambda row, start: lax.dynamic_slice(row, (start,), (32,)))(x, starts % 96) @ weight[:32]


@workload(
    floats((64, 16), "data"),
    floats((16, 8)),
    floats((8, 16, 32), "model"),
    floats((8, 32, 16), "model"),
    xla_bytes=16_384,
)
def experts_with_capacity(x: Any, router: Any, up: Any, down: Any) -> Any:
    """Send each token to two experts, by products with one-hot vectors."""
    weights, chosen = lax.top_k(jax.nn.softmax(x @ router), 2)
    is_chosen = jax.nn.one_hot(chosen, 8)
    places = (jnp.cumsum(is_chosen.reshape(128, 8), 0) - 1).reshape(64, 2, 8)
    is_kept = is_chosen * (places < 32)
    at_place = jax.nn.one_hot(places.astype(int), 32)
    inputs = jnp.einsum("tec,td->ecd", jnp.einsum("tke,tkec->tec", is_kept, at_place * is_kept[..., None]), x)
    hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inputs, up))
    outputs = jnp.einsum("ecf,efd->ecd", hidden, down)
    return jnp.einsum("tec,ecd->td", jnp.einsum("tk,tke,tkec->tec", weights, is_kept, at_place), outputs)


@workload(
    floats((64, 16), "data"),
    floats((16, 8)),
    floats((8, 16, 32), None, None, "model"),
    floats((8, 32, 16), None, "model"),
    xla_bytes=10_480,
)
def experts_of_sorted_tokens(x: Any, router: Any, up: Any, down: Any) -> Any:
    """Sort tokens by their expert, and multiply groups of rows by the weights of each."""
    expert = jnp.argmax(x @ router, -1)
    order, sizes = jnp.argsort(expert), jnp.bincount(expert, length=8).astype(jnp.int32)
    hidden = jax.nn.gelu(lax.ragged_dot(x[order], up, sizes))
    return jnp.zeros_like(x).at[order].set(lax.ragged_dot(hidden, down, sizes))


@workload(
    floats((8, 32, 16), "data"),
    floats((16, 64), None, "model"),
    floats((64, 8), "model"),
    floats((64, 16), "model"),
    xla_bytes=6_144,
)
def selective_scan(x: Any, into: Any, out: Any, back: Any) -> Any:
    """Combine all positions by an associative scan."""
    inner = x @ into

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    _, states = lax.associative_scan(combine, (jax.nn.sigmoid(inner), jnp.tanh(inner)), axis=1)
    return (states * jax.nn.silu(inner)) @ back, states @ out


@workload(
    floats((16, 24, 8), "data"), floats((8, 64), None, "model"), floats((16, 64), None, "model"), xla_bytes=15_370
)
def lstm(x: Any, of_input: Any, of_state: Any) -> Any:
    """Run a recurrent cell whose four gates are packed into one sharded dim."""

    def cell(carried: Any, row: Any) -> Any:
        state, memory = carried
        enter, forget, leave, new = jnp.split(row @ of_input + state @ of_state, 4, -1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jnp.tanh(new)
        state = jax.nn.sigmoid(leave) * jnp.tanh(memory)
        return (state, memory), state

    _, states = lax.scan(cell, (jnp.zeros((16, 16)), jnp.zeros((16, 16))), x.transpose(1, 0, 2))
    return (states**2).mean()


@workload(floats((12, 16, 16), None, "data"), floats((32, 64), None, "data"), xla_bytes=181_248)
def step_of_a_recurrent_cell(x: Any, weight: Any) -> Any:
    """Train a recurrent cell whose four gates are sharded along the axis of the batch."""

    def loss(weight: Any) -> Any:
        def cell(carried: Any, row: Any) -> Any:
            state, memory = carried
            enter, forget, leave, new = jnp.split(jnp.concatenate([row, state], -1) @ weight, 4, -1)
            memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jnp.tanh(new)
            state = jax.nn.sigmoid(leave) * jnp.tanh(memory)
            return (state, memory), state

        start = jnp.zeros(x.shape[1:])
        return (lax.scan(cell, (start, start), x)[1] ** 2).mean()

    return weight - 0.1 * jax.grad(loss)(weight)


@workload(integers((8, 1), "data"), floats((50, 16), "model"), floats((16, 16)), xla_bytes=30_880)
def beam_search(start: Any, embedding: Any, weight: Any) -> Any:
    """Keep the four best continuations of each sequence."""

    def extend(step: Any, carried: Any) -> Any:
        tokens, scores = carried
        logits = jax.nn.log_softmax(jnp.tanh(embedding[tokens[:, :, step]] @ weight) @ embedding.T)
        scores, index = lax.top_k((scores[..., None] + logits).reshape(8, -1), 4)
        tokens = jnp.take_along_axis(tokens, (index // 50)[..., None], 1)
        return tokens.at[:, :, step + 1].set(index % 50), scores

    tokens = jnp.zeros((8, 4, 6), jnp.int32).at[:, :, 0].set(start % 50)
    return lax.fori_loop(0, 5, extend, (tokens, jnp.zeros((8, 4))))


@workload(floats((64, 32), "data"), floats((128, 32), "model"), xla_bytes=38_912)
def retrieval(queries: Any, documents: Any) -> Any:
    """Return the five nearest of sharded documents."""
    scores, index = lax.top_k(queries @ documents.T, 5)
    return scores, documents[index]


@workload(integers((16, 2), "data", dtype=jnp.uint32), xla_bytes=0)
def samples_by_own_keys(keys: Any) -> Any:
    """Draw numbers for each example by its own key."""

    def drawn(key: Any) -> Any:
        first, second = jax.random.split(key)
        return jax.random.normal(first, (8,)), jax.random.categorical(second, jnp.zeros(5))

    return jax.vmap(drawn)(keys), jax.vmap(lambda key: jax.random.permutation(key, 6))(keys)


@workload(floats((16, 32), "data"), floats((32, 128), None, "model"), xla_bytes=1_024)
def gates_of_one_product(x: Any, weight: Any) -> Any:
    """Split the columns of a product into gates and values."""
    gates, values = jnp.split(x @ weight, 2, -1)
    return jax.nn.silu(gates) * values


@workload(floats((4, 64, 8), None, "data", "model"), floats((4, 8), None, "model"), xla_bytes=704)
def causal_convolution_by_shifts(x: Any, weight: Any) -> Any:
    """Add up shifts of a sharded sequence, as state-space models do before their scans."""
    padded = jnp.pad(x, ((0, 0), (3, 0), (0, 0)))
    return sum(padded[:, shift : shift + 64] * weight[shift] for shift in range(4))


@workload(floats((8, 16, 16, 8), "data", "model"), xla_bytes=10_240)
def attention_in_shifted_windows(image: Any) -> Any:
    """Attend within windows of 4 by 4 pixels of an image that is rolled by two pixels."""
    rolled = jnp.roll(image, (-2, -2), (1, 2)).reshape(8, 4, 4, 4, 4, 8)
    windows = rolled.transpose(0, 1, 3, 2, 4, 5).reshape(-1, 16, 8)
    return jax.nn.softmax(windows @ windows.swapaxes(1, 2)) @ windows


@workload(floats((8, 16, 16, 8), "data", "model"), xla_bytes=10_240)
def gradient_of_shifted_windows(image: Any) -> Any:
    """Differentiate attention within windows of an image that is shifted before, and back afterwards."""

    def loss(image: Any) -> Any:
        shifted = jnp.roll(image, (-2, -2), (1, 2)).reshape(8, 4, 4, 4, 4, 8)
        windows = shifted.transpose(0, 1, 3, 2, 4, 5).reshape(128, 16, 8)
        mixed = jax.nn.softmax(windows @ windows.transpose(0, 2, 1)) @ windows
        mixed = mixed.reshape(8, 4, 4, 4, 4, 8).transpose(0, 1, 3, 2, 4, 5).reshape(8, 16, 16, 8)
        return (jnp.roll(mixed, (2, 2), (1, 2)) ** 2).sum()

    return jax.grad(loss)(image)


@workload(floats((4, 64, 8), None, "data", "model"), xla_bytes=1_024)
def rotation_by_more_than_a_shard(x: Any) -> Any:
    """Roll a sharded dim by 20 elements, of which a shard has 16."""
    return jnp.roll(x, 20, 1)
