"""Training steps of models of today's sizes, unrolled: like Llama 3 405B, and like DeepSeek-V3. Nothing is allocated.

The arguments are shapes on an abstract mesh. Sources of the sizes: The Llama 3 Herd of Models (2024), table 3;
DeepSeek-V3 Technical Report (2024), section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct, lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

Params = Any  # a pytree of arrays, or of their shapes
DATA = ("data", "fsdp")
RATE, DECAY, SQUARE_DECAY, EPSILON = 1e-4, 0.9, 0.95, 1e-8


@dataclass(frozen=True)
class Model:
    """A training step and the shapes of its arguments: parameters, both moments of Adam, and tokens."""

    step: Callable[..., object]
    arguments: tuple[Params, ...]


@dataclass(frozen=True)
class LlamaSizes:
    """The sizes of a dense transformer with grouped queries; the defaults are those of 405B."""

    layers: int = 126
    width: int = 16_384
    hidden: int = 53_248
    heads: int = 128
    key_heads: int = 8
    head: int = 128
    vocabulary: int = 128_256
    batch: int = 2_048
    sequence: int = 8_192


@dataclass(frozen=True)
class DeepSeekSizes:
    """The sizes of a mixture of experts with latent attention; the defaults are those of DeepSeek-V3."""

    layers: int = 61
    dense_layers: int = 3
    width: int = 7_168
    hidden: int = 18_432
    heads: int = 128
    head: int = 128
    rotary: int = 64
    query_rank: int = 1_536
    key_rank: int = 512
    experts: int = 256
    chosen: int = 8
    expert_hidden: int = 2_048
    capacity: int = 512
    vocabulary: int = 129_280
    groups: int = 1_024
    tokens: int = 4_096


def mesh_of(**axes: int) -> AbstractMesh:
    """Return a mesh of these axes without devices."""
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def llama(sizes: LlamaSizes, mesh: AbstractMesh) -> Model:
    """Return a training step of a Llama on a mesh with the axes data, fsdp and tensor."""
    tensors = _Tensors(mesh)
    width, hidden, head = sizes.width, sizes.hidden, sizes.head
    layer = {
        "norm1": tensors.weight(width),
        "norm2": tensors.weight(width),
        "query": tensors.weight(width, sizes.heads * head, spec=("fsdp", "tensor")),
        "key": tensors.weight(width, sizes.key_heads * head, spec=("fsdp", "tensor")),
        "value": tensors.weight(width, sizes.key_heads * head, spec=("fsdp", "tensor")),
        "out": tensors.weight(sizes.heads * head, width, spec=("tensor", "fsdp")),
        "gate": tensors.weight(width, hidden, spec=("fsdp", "tensor")),
        "up": tensors.weight(width, hidden, spec=("fsdp", "tensor")),
        "down": tensors.weight(hidden, width, spec=("tensor", "fsdp")),
    }
    params = {
        "embedding": tensors.weight(sizes.vocabulary, width, spec=("tensor", "fsdp")),
        "logits": tensors.weight(width, sizes.vocabulary, spec=("fsdp", "tensor")),
        "layers": [layer] * sizes.layers,
    }

    def loss(params: Params, tokens: Array) -> Array:
        stream = params["embedding"][tokens]
        for each in params["layers"]:
            stream = tensors.batched(stream + _grouped_attention(each, _norm(stream, each["norm1"]), sizes))
            stream = tensors.batched(stream + _gated(each, _norm(stream, each["norm2"])))
        return _cross_entropy(stream @ params["logits"], tokens)

    return tensors.training(loss, params, (sizes.batch, sizes.sequence))


def deepseek(sizes: DeepSeekSizes, mesh: AbstractMesh) -> Model:
    """Return a training step of a DeepSeek on a mesh with the axes data, fsdp, expert and tensor.

    Tokens are dispatched to experts in groups, up to a capacity per expert and group; those beyond it are dropped.
    """
    tensors = _Tensors(mesh)
    dense = {**_latent_weights(tensors, sizes), **_gated_weights(tensors, sizes.width, sizes.hidden)}
    mixture = {
        **_latent_weights(tensors, sizes),
        **_gated_weights(tensors, sizes.width, sizes.expert_hidden),
        "router": tensors.weight(sizes.width, sizes.experts),
        "experts": _gated_weights(tensors, sizes.width, sizes.expert_hidden, experts=sizes.experts),
    }
    params = {
        "embedding": tensors.weight(sizes.vocabulary, sizes.width, spec=("tensor", "fsdp")),
        "logits": tensors.weight(sizes.width, sizes.vocabulary, spec=("fsdp", "tensor")),
        "layers": [dense] * sizes.dense_layers + [mixture] * (sizes.layers - sizes.dense_layers),
    }

    def loss(params: Params, tokens: Array) -> Array:
        stream = params["embedding"][tokens]
        for each in params["layers"]:
            stream = tensors.batched(stream + _latent_attention(each, _norm(stream, each["norm1"]), sizes))
            normal = _norm(stream, each["norm2"])
            added = _gated(each, normal)
            if "experts" in each:
                added = added + _mixture(each, normal, sizes, tensors)
            stream = tensors.batched(stream + added)
        return _cross_entropy(stream @ params["logits"], tokens)

    return tensors.training(loss, params, (sizes.groups, sizes.tokens))


@dataclass(frozen=True)
class _Tensors:
    mesh: AbstractMesh

    def weight(self, *shape: int, spec: tuple[object, ...] = (), dtype: object = jnp.bfloat16) -> ShapeDtypeStruct:
        """Return the shape of an argument with a sharding."""
        return ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(self.mesh, P(*spec)))

    def batched(self, stream: Array) -> Array:
        """Return activations that are sharded along their batch dim."""
        return lax.with_sharding_constraint(stream, NamedSharding(self.mesh, P(DATA, None, None)))

    def by_expert(self, rows: Array) -> Array:
        """Return the rows of each expert, sharded by group and by expert."""
        return lax.with_sharding_constraint(rows, NamedSharding(self.mesh, P(DATA, "expert", None, None)))

    def training(self, loss: Callable[..., Array], params: Params, tokens: tuple[int, int]) -> Model:
        """Return the training step of a loss, with Adam in 32 bits."""

        def moment(shape: ShapeDtypeStruct) -> ShapeDtypeStruct:
            return ShapeDtypeStruct(shape.shape, jnp.float32, sharding=shape.sharding)

        def step(params: Params, first: Params, second: Params, tokens: Array) -> tuple[Params, Params, Params, Array]:
            value, gradients = jax.value_and_grad(loss)(params, tokens)
            first = jax.tree.map(_first_moment, first, gradients)
            second = jax.tree.map(_second_moment, second, gradients)
            params = jax.tree.map(_updated, params, first, second)
            return params, first, second, value

        moments = jax.tree.map(moment, params)
        batch = self.weight(*tokens, spec=(DATA,), dtype=jnp.int32)
        return Model(step, (params, moments, moments, batch))


def _first_moment(old: Array, gradient: Array) -> Array:
    return DECAY * old + (1 - DECAY) * gradient


def _second_moment(old: Array, gradient: Array) -> Array:
    return SQUARE_DECAY * old + (1 - SQUARE_DECAY) * jnp.square(gradient.astype(jnp.float32))


def _updated(weight: Array, first: Array, second: Array) -> Array:
    return (weight - RATE * first / (jnp.sqrt(second) + EPSILON)).astype(weight.dtype)


def _norm(stream: Array, gain: Array) -> Array:
    square = jnp.mean(jnp.square(stream.astype(jnp.float32)), -1, keepdims=True)
    return stream * lax.rsqrt(square + 1e-6).astype(stream.dtype) * gain


def _gated_weights(
    tensors: _Tensors, width: int, hidden: int, experts: int | None = None
) -> dict[str, ShapeDtypeStruct]:
    first, spec = ((), ()) if experts is None else ((experts,), ("expert",))
    return {
        "gate": tensors.weight(*first, width, hidden, spec=(*spec, "fsdp", "tensor")),
        "up": tensors.weight(*first, width, hidden, spec=(*spec, "fsdp", "tensor")),
        "down": tensors.weight(*first, hidden, width, spec=(*spec, "tensor", "fsdp")),
    }


def _gated(layer: Mapping[str, Array], normal: Array) -> Array:
    return (jax.nn.silu(normal @ layer["gate"]) * (normal @ layer["up"])) @ layer["down"]


def _rotated(heads: Array) -> Array:
    """Return heads of shape (batch, positions, ..., size), rotated by their positions."""
    half = heads.shape[-1] // 2
    angles = jnp.arange(heads.shape[1])[:, None] / 5e5 ** (jnp.arange(half) / half)
    angles = angles.reshape(angles.shape[0], *(1,) * (heads.ndim - 3), half)
    cosine, sine = jnp.cos(angles).astype(heads.dtype), jnp.sin(angles).astype(heads.dtype)
    left, right = heads[..., :half], heads[..., half:]
    return jnp.concatenate([left * cosine - right * sine, left * sine + right * cosine], -1)


def _weights_of_past(scores: Array, size: int) -> Array:
    past = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(past, scores.astype(jnp.float32) * size**-0.5, -1e9))


def _grouped_attention(layer: Mapping[str, Array], normal: Array, sizes: LlamaSizes) -> Array:
    batch, length, _ = normal.shape
    groups, head = sizes.key_heads, sizes.head
    query = _rotated((normal @ layer["query"]).reshape(batch, length, sizes.heads, head))
    query = query.reshape(batch, length, groups, sizes.heads // groups, head)
    key = _rotated((normal @ layer["key"]).reshape(batch, length, groups, head))
    value = (normal @ layer["value"]).reshape(batch, length, groups, head)
    weights = _weights_of_past(jnp.einsum("btgqk,bsgk->bgqts", query, key), head).astype(normal.dtype)
    mixed = jnp.einsum("bgqts,bsgk->btgqk", weights, value)
    return mixed.reshape(batch, length, sizes.heads * head) @ layer["out"]


def _latent_weights(tensors: _Tensors, sizes: DeepSeekSizes) -> dict[str, ShapeDtypeStruct]:
    query_size, key_size = sizes.head + sizes.rotary, 2 * sizes.head
    return {
        "norm1": tensors.weight(sizes.width),
        "norm2": tensors.weight(sizes.width),
        "query_norm": tensors.weight(sizes.query_rank),
        "key_norm": tensors.weight(sizes.key_rank),
        "query_down": tensors.weight(sizes.width, sizes.query_rank, spec=("fsdp",)),
        "query_up": tensors.weight(sizes.query_rank, sizes.heads * query_size, spec=("fsdp", "tensor")),
        "key_down": tensors.weight(sizes.width, sizes.key_rank + sizes.rotary, spec=("fsdp",)),
        "key_up": tensors.weight(sizes.key_rank, sizes.heads * key_size, spec=("fsdp", "tensor")),
        "out": tensors.weight(sizes.heads * sizes.head, sizes.width, spec=("tensor", "fsdp")),
    }


def _latent_attention(layer: Mapping[str, Array], normal: Array, sizes: DeepSeekSizes) -> Array:
    batch, length, _ = normal.shape
    heads, head, rotary = sizes.heads, sizes.head, sizes.rotary
    query = _norm(normal @ layer["query_down"], layer["query_norm"]) @ layer["query_up"]
    query = query.reshape(batch, length, heads, head + rotary)
    latent = normal @ layer["key_down"]
    key_value = (_norm(latent[..., : sizes.key_rank], layer["key_norm"]) @ layer["key_up"]).reshape(
        batch, length, heads, 2 * head
    )
    positions = _rotated(latent[..., sizes.key_rank :])
    scores = jnp.einsum("bthk,bshk->bhts", query[..., :head], key_value[..., :head])
    scores = scores + jnp.einsum("bthk,bsk->bhts", _rotated(query[..., head:]), positions)
    weights = _weights_of_past(scores, head + rotary).astype(normal.dtype)
    mixed = jnp.einsum("bhts,bshk->bthk", weights, key_value[..., head:])
    return mixed.reshape(batch, length, heads * head) @ layer["out"]


def _mixture(layer: Mapping[str, Any], normal: Array, sizes: DeepSeekSizes, tensors: _Tensors) -> Array:
    """Return what the chosen experts add, of shape (groups, tokens, width)."""
    scores = jax.nn.sigmoid((normal @ layer["router"]).astype(jnp.float32))
    best, experts = lax.top_k(scores, sizes.chosen)
    chosen = jax.nn.one_hot(experts, sizes.experts, dtype=jnp.float32)  # groups, tokens, choices, experts
    is_chosen = chosen.sum(axis=2)
    place = jnp.cumsum(is_chosen, axis=1) - is_chosen  # the tokens before that chose the same expert
    dispatched = is_chosen[..., None] * jax.nn.one_hot(place.astype(jnp.int32), sizes.capacity, dtype=jnp.float32)
    shares = (chosen * (best / best.sum(axis=-1, keepdims=True))[..., None]).sum(axis=2)
    combined = (dispatched * shares[..., None]).astype(normal.dtype)
    rows = tensors.by_expert(jnp.einsum("gtec,gtw->gecw", dispatched.astype(normal.dtype), normal))
    weights = cast(Mapping[str, Array], layer["experts"])
    gate = jax.nn.silu(jnp.einsum("gecw,ewh->gech", rows, weights["gate"]))
    hidden = gate * jnp.einsum("gecw,ewh->gech", rows, weights["up"])
    computed = tensors.by_expert(jnp.einsum("gech,ehw->gecw", hidden, weights["down"]))
    return jnp.einsum("gecw,gtec->gtw", computed, combined)


def _cross_entropy(logits: Array, tokens: Array) -> Array:
    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.mean(jnp.take_along_axis(logs[:, :-1], tokens[:, 1:, None], -1))
