# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Training steps of ten libraries and models. Libraries are imported by the functions that need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp

from support.training_steps.training_step import TrainingStep

TOKENS = 8192
KEY = jax.ShapeDtypeStruct((), jax.eval_shape(jax.random.key, 0).dtype)


def shape(*sizes: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Return the shape of an array."""
    return jax.ShapeDtypeStruct(sizes, dtype)


def tokens(batch: int, length: int) -> jax.ShapeDtypeStruct:
    """Return the shape of a batch of token numbers."""
    return shape(batch, length, dtype=jnp.int32)


def next_token_loss(logits: Any, tokens: Any) -> Any:
    """Return the mean cross-entropy of each token given those before it."""
    scores = jax.nn.log_softmax(logits[:, :-1].astype(jnp.float32))
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], -1).mean()


def _library(module: str) -> Any:
    return import_module(module)


def _programs(module: str) -> Any:
    return import_module(f"support.library_programs.{module}")


def griffin() -> TrainingStep:
    """Train Griffin of RecurrentGemma: two recurrent blocks and one of local attention."""
    rg = _library("recurrentgemma.jax")
    recurrent, attention = rg.TemporalBlockType.RECURRENT, rg.TemporalBlockType.ATTENTION
    config = rg.GriffinConfig(
        vocab_size=2 * TOKENS, width=1024, mlp_expanded_width=3072, num_heads=8, lru_width=1024,
        embeddings_scale_by_sqrt_dim=True, attention_window_size=128, logits_soft_cap=30.0,
        block_types=(recurrent, recurrent, attention), scan_type=rg.ScanType.ASSOCIATIVE_NATIVE,
    )  # fmt: skip
    model, batch = rg.Griffin(config, dtype=jnp.bfloat16), tokens(32, 512)
    params = jax.eval_shape(model.init, KEY, batch, batch)

    def loss(params: Any, batch: Any) -> Any:
        return next_token_loss(model.apply(params, *batch)[0], batch[0])

    return TrainingStep(loss, params, (batch, batch))


def linen_transformer() -> TrainingStep:
    """Train a transformer of Flax Linen, whose embedding is also its head."""
    model, batch = _programs("flax_linen").LanguageModel(vocabulary=TOKENS, width=512), tokens(32, 256)

    def loss(params: Any, batch: Any) -> Any:
        return next_token_loss(model.apply(params, batch), batch)

    return TrainingStep(loss, jax.eval_shape(model.init, KEY, batch), batch)


def nnx_attention() -> TrainingStep:
    """Train blocks of attention of Flax NNX."""
    nnx = _library("flax.nnx")
    attention = _programs("flax_nnx").Attention
    model = nnx.eval_shape(lambda: nnx.Sequential(*(attention(nnx.Rngs(0), 1024) for _ in range(3))))
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    seeds = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.uint32), rest) if jax.tree.leaves(rest) else rest

    def loss(params: Any, batch: Any) -> Any:
        return ((nnx.merge(graph, params, seeds)(batch[0]) - batch[1]) ** 2).mean()

    return TrainingStep(loss, params, (shape(32, 256, 1024), shape(32, 256, 1024)))


def equinox_mlp() -> TrainingStep:
    """Train the layers of an MLP of Equinox, vmapped over the batch."""
    eqx = _library("equinox")
    model = eqx.filter_eval_shape(eqx.nn.MLP, 512, 512, 4096, 3, key=KEY)
    params, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(params: Any, batch: Any) -> Any:
        return ((jax.vmap(eqx.combine(params, static))(batch[0]) - batch[1]) ** 2).mean()

    return TrainingStep(loss, params, (shape(4096, 512), shape(4096, 512)))


def haiku_lstm() -> TrainingStep:
    """Train a language model with an LSTM of Haiku, unrolled by a scan."""
    hk = _library("haiku")

    def forward(words: Any) -> Any:
        core = hk.LSTM(1024)
        hidden, _ = hk.dynamic_unroll(
            core, hk.Embed(TOKENS, 512)(words), core.initial_state(words.shape[0]), time_major=False
        )
        return hk.BatchApply(hk.Linear(TOKENS))(hidden)

    pure, batch = hk.without_apply_rng(hk.transform(forward)), tokens(64, 64)

    def loss(params: Any, batch: Any) -> Any:
        return next_token_loss(pure.apply(params, batch), batch)

    return TrainingStep(loss, jax.eval_shape(pure.init, KEY, batch), batch)


def gated_layers() -> TrainingStep:
    """Train layers in bfloat16 between an embedding and the same embedding as head, written with JAX and Optax."""
    width, hidden = 1024, 3072
    layer = {
        "scale": shape(width),
        "up": shape(width, hidden),
        "gate": shape(width, hidden),
        "down": shape(hidden, width),
    }
    params = {"embedding": shape(2 * TOKENS, width), "layers": [layer, layer]}

    def loss(params: Any, batch: Any) -> Any:
        x = params["embedding"][batch].astype(jnp.bfloat16)
        for layer in params["layers"]:
            scale, up, gate, down = (layer[key].astype(x.dtype) for key in ("scale", "up", "gate", "down"))
            normed = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale
            x = x + (jax.nn.gelu(normed @ gate) * (normed @ up)) @ down
        return next_token_loss(x @ params["embedding"].T.astype(x.dtype), batch)

    return TrainingStep(loss, params, tokens(32, 512))


def graph_network() -> TrainingStep:
    """Train interaction networks of Jraph on a graph of 4,096 nodes and 16,384 edges."""
    hk, jraph = _library("haiku"), _library("jraph")

    def dense(size: int) -> Callable[..., Any]:
        return jraph.concatenated_args(lambda x: jax.nn.relu(hk.Linear(size)(x)))

    def forward(batch: Any) -> Any:
        nodes, edges, ends = batch
        graph = jraph.GraphsTuple(
            nodes=nodes, edges=edges, senders=ends[:, 0], receivers=ends[:, 1], globals=None,
            n_node=jnp.array([nodes.shape[0]]), n_edge=jnp.array([edges.shape[0]]),
        )  # fmt: skip
        for _ in range(2):
            graph = jraph.InteractionNetwork(dense(512), dense(512))(graph)
        return graph.nodes

    pure = hk.without_apply_rng(hk.transform(forward))
    batch = shape(4096, 256), shape(16384, 256), shape(16384, 2, dtype=jnp.int32)

    def loss(params: Any, batch: Any) -> Any:
        return (pure.apply(params, batch) ** 2).mean()

    return TrainingStep(loss, jax.eval_shape(pure.init, KEY, batch), batch)


def mixture_of_experts() -> TrainingStep:
    """Train experts of Flax Linen to which a router sends each token, up to a capacity."""
    experts = _programs("flax_linen").Experts(count=8, hidden=2048, capacity=512)
    batch = shape(16, 128, 512)

    def loss(params: Any, batch: Any) -> Any:
        return ((experts.apply(params, batch) - batch) ** 2).mean()

    return TrainingStep(loss, jax.eval_shape(experts.init, KEY, batch), batch)


def residual_net() -> TrainingStep:
    """Train residual blocks of convolutions with group norm of Flax Linen."""
    model = _programs("flax_linen").Residual(features=128)
    images, labels = shape(64, 32, 32, 32), shape(64, dtype=jnp.int32)

    def loss(params: Any, batch: Any) -> Any:
        scores = jax.nn.log_softmax(model.apply(params, batch[0]))
        return -jnp.take_along_axis(scores, batch[1][:, None], -1).mean()

    return TrainingStep(loss, jax.eval_shape(model.init, KEY, images), (images, labels))


def score_model() -> TrainingStep:
    """Train a diffusion model of Equinox: an MLP mixer over patches denoises images at random times."""
    eqx = _library("equinox")
    patches, channels = 256, 512

    def build(key: Any) -> Any:
        keys = jax.random.split(key, 5)
        blocks = [
            (eqx.nn.MLP(patches, patches, 2 * patches, 1, key=keys[2 * i]),
             eqx.nn.MLP(channels, channels, 4 * channels, 1, key=keys[2 * i + 1]))
            for i in range(2)
        ]  # fmt: skip
        return blocks, eqx.nn.Linear(channels + 1, channels, key=keys[4])

    params, static = eqx.partition(
        eqx.filter_eval_shape(build, KEY), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    )

    def denoised(model: Any, noisy: Any, time: Any) -> Any:
        blocks, first = model
        x = jax.vmap(first)(jnp.concatenate([noisy, jnp.full((patches, 1), time)], 1))
        for over_patches, over_channels in blocks:
            x = x + jax.vmap(over_patches, 1, 1)(x)
            x = x + jax.vmap(over_channels)(x)
        return x

    def loss(params: Any, batch: Any) -> Any:
        images, noise, times = batch
        deviation = jnp.sqrt(1 - jnp.exp(-times))
        noisy = images * jnp.exp(-times / 2)[:, None, None] + noise * deviation[:, None, None]
        model = eqx.combine(params, static)
        found = jax.vmap(lambda noisy, time: denoised(model, noisy, time))(noisy, times)
        return (jnp.mean((found + noise / deviation[:, None, None]) ** 2, (1, 2)) * deviation**2).mean()

    return TrainingStep(loss, params, (shape(64, patches, channels), shape(64, patches, channels), shape(64)))


# Each step with the libraries that it needs: those of the extra `corpus`, and `recurrentgemma` with `typeguard<3`.
STEPS: Mapping[str, tuple[Callable[[], TrainingStep], tuple[str, ...]]] = {
    "griffin": (griffin, ("recurrentgemma", "optax")),
    "linen_transformer": (linen_transformer, ("flax", "optax")),
    "nnx_attention": (nnx_attention, ("flax", "optax")),
    "equinox_mlp": (equinox_mlp, ("equinox", "optax")),
    "haiku_lstm": (haiku_lstm, ("haiku", "optax")),
    "gated_layers": (gated_layers, ("optax",)),
    "graph_network": (graph_network, ("jraph", "haiku", "optax")),
    "mixture_of_experts": (mixture_of_experts, ("flax", "optax")),
    "residual_net": (residual_net, ("flax", "optax")),
    "score_model": (score_model, ("equinox", "optax")),
}


def missing_library(name: str) -> str | None:
    """Return the first library that a step needs and that is not installed."""
    return next((each for each in STEPS[name][1] if find_spec(each) is None), None)
