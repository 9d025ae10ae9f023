# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of dm-haiku: training steps of its modules, made pure by `hk.transform`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

hk: Any = import_module("haiku")
optax: Any = import_module("optax")


def _training(forward: Callable[[Any], Any], x: Any, wanted: Any) -> LibraryProgram:
    """Return a training step of a function of modules, with their state."""
    pure = hk.transform_with_state(forward)
    parameters, state = pure.init(jax.random.key(0), x)
    optimizer = optax.rmsprop(1e-3)

    def step(all_state: Any, data: Any) -> Any:
        parameters, state, memory = all_state
        x, wanted = data

        def loss(parameters: Any) -> Any:
            out, updated = pure.apply(parameters, state, jax.random.key(1), x)
            return ((out - wanted) ** 2).mean(), updated

        gradients, updated = jax.grad(loss, has_aux=True)(parameters)
        change, memory = optimizer.update(gradients, memory, parameters)
        return optax.apply_updates(parameters, change), updated, memory

    return LibraryProgram(step, (parameters, state, optimizer.init(parameters)), (x, wanted))


def mlp() -> LibraryProgram:
    """Train dense layers with dropout."""

    def forward(x: Any) -> Any:
        return hk.nets.MLP([64, 32, 8])(x, 0.2, hk.next_rng_key())

    return _training(forward, normal(32, 16), normal(32, 8, seed=1))


def residual_net() -> LibraryProgram:
    """Train a residual net with one block in each group."""

    def forward(x: Any) -> Any:
        net = hk.nets.ResNet(
            (1, 1, 1, 1), 8, resnet_v2=True, bottleneck=False, channels_per_group=(8, 8, 16, 16),
            use_projection=(True, True, True, True), initial_conv_config={"output_channels": 8},
        )  # fmt: skip
        return net(x, is_training=True)

    return _training(forward, normal(8, 32, 32, 4), normal(8, 8, seed=1))


def lstm() -> LibraryProgram:
    """Train an LSTM, unrolled by a scan."""

    def forward(x: Any) -> Any:
        core = hk.LSTM(32)
        return hk.dynamic_unroll(core, x, core.initial_state(x.shape[0]), time_major=False)[0]

    return _training(forward, normal(8, 16, 16), normal(8, 16, 32, seed=1))


def attention() -> LibraryProgram:
    """Train attention between two sequences."""

    def forward(x: Any) -> Any:
        normed = hk.LayerNorm(-1, create_scale=True, create_offset=True)(x)
        return x + hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0))(normed, normed, normed)

    return _training(forward, normal(8, 16, 32), normal(8, 16, 32, seed=1))


def variational_autoencoder() -> LibraryProgram:
    """Train an autoencoder with convolutions and a random code."""

    def forward(x: Any) -> Any:
        hidden = hk.Flatten()(jax.nn.relu(hk.Conv2D(8, 3, 2)(x)))
        mean, deviation = hk.Linear(16)(hidden), jax.nn.softplus(hk.Linear(16)(hidden))
        code = mean + deviation * jax.random.normal(hk.next_rng_key(), mean.shape)
        pixels = hk.Linear(8 * 8 * 8)(code).reshape(-1, 8, 8, 8)
        return hk.Conv2DTranspose(4, 3, 2)(jax.nn.relu(pixels))

    images = normal(8, 16, 16, 4)
    return _training(forward, images, images)


def vector_quantizer() -> LibraryProgram:
    """Train a quantizer with moving averages of its codes."""

    def forward(x: Any) -> Any:
        quantizer = hk.nets.VectorQuantizerEMA(8, 32, commitment_cost=0.25, decay=0.9)
        found = quantizer(hk.Linear(8)(x), is_training=True)
        return hk.Linear(16)(found["quantize"]) + found["loss"]

    return _training(forward, normal(32, 16), normal(32, 16, seed=1))


def embedded_words() -> LibraryProgram:
    """Train embeddings and a convolution over words."""

    def forward(words: Any) -> Any:
        x = hk.Embed(64, 16)(words)
        return jnp.max(hk.Conv1D(32, 3)(x), 1)

    words = np.random.default_rng(0).integers(0, 64, (16, 16)).astype(np.int32)
    return _training(forward, words, normal(16, 32))
