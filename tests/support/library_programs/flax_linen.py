# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Flax Linen: training steps of its layers with optimizers of Optax, and decoding with its cache."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

nn: Any = import_module("flax.linen")
optax: Any = import_module("optax")
KEY = jax.random.key(0)


class Block(nn.Module):
    """A block of a transformer."""

    heads: int = 4

    @nn.compact
    def __call__(self, x: Any, _: Any = None) -> Any:
        size = x.shape[-1]
        mask = nn.make_causal_mask(x[..., 0])
        x = x + nn.MultiHeadDotProductAttention(self.heads)(nn.LayerNorm()(x), mask=mask)
        hidden = nn.gelu(nn.Dense(4 * size)(nn.LayerNorm()(x)))
        return x + nn.Dense(size)(hidden), None


class LanguageModel(nn.Module):
    """A transformer whose embedding is also its head."""

    block: Any = Block
    layers: int = 2
    vocabulary: int = 64
    width: int = 32

    @nn.compact
    def __call__(self, tokens: Any) -> Any:
        embedding = nn.Embed(self.vocabulary, self.width)
        x = embedding(tokens)
        for _ in range(self.layers):
            x, _ = self.block()(x)
        return embedding.attend(nn.LayerNorm()(x))


class Convolutions(nn.Module):
    """Convolutions with batch norm and pooling."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for features in (16, 32):
            x = nn.Conv(features, (3, 3), use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
        return nn.Dense(8)(x.mean((1, 2)))


class Residual(nn.Module):
    """Residual blocks with group norm and strides."""

    features: int = 16

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for strides in (1, 2):
            y = nn.relu(nn.GroupNorm(4)(nn.Conv(self.features, (3, 3), strides)(x)))
            y = nn.GroupNorm(4)(nn.Conv(self.features, (3, 3))(y))
            x = nn.relu(nn.Conv(self.features, (1, 1), strides)(x) + y)
        return nn.Dense(8)(x.reshape(x.shape[0], -1))


class Experts(nn.Module):
    """Experts to which a router sends each token, up to a capacity."""

    count: int
    hidden: int
    capacity: int

    @nn.compact
    def __call__(self, x: Any) -> Any:
        width, weights = x.shape[-1], nn.initializers.lecun_normal()
        tokens = x.reshape(-1, width)
        gates = nn.softmax(nn.Dense(self.count, use_bias=False)(tokens))
        chosen = jax.nn.one_hot(gates.argmax(-1), self.count)
        rank = ((jnp.cumsum(chosen, 0) - 1) * chosen).sum(-1)
        dispatch = chosen[..., None] * jax.nn.one_hot(rank.astype(int), self.capacity)[:, None]
        up = self.param("up", weights, (self.count, width, self.hidden))
        down = self.param("down", weights, (self.count, self.hidden, width))
        hidden = nn.relu(jnp.einsum("tec,td,edf->ecf", dispatch, tokens, up))
        return jnp.einsum("tec,ecf,efd,te->td", dispatch, hidden, down, gates).reshape(x.shape)


class Autoencoder(nn.Module):
    """Convolutions and their transposes."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.relu(nn.Conv(16, (3, 3), (2, 2))(x))
        x = nn.relu(nn.Conv(32, (3, 3), (2, 2))(x))
        x = nn.relu(nn.ConvTranspose(16, (3, 3), (2, 2))(x))
        return nn.ConvTranspose(4, (3, 3), (2, 2))(x)


class Scanned(nn.Module):
    """Equal blocks in a scan, rematerialized in the backward pass."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        block = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return block()(x, None)[0]


class Recurrent(nn.Module):
    """A recurrent cell over a sequence."""

    cell: Any

    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Dense(8)(nn.RNN(self.cell)(x))


def _training(model: Any, loss: Callable[[Any, Any], Any], data: Any, optimizer: Any = None) -> LibraryProgram:
    """Return a training step of a model, whose variables include batch statistics if it has any."""
    optimizer = optimizer or optax.adam(1e-3)
    variables = model.init(KEY, data[0])
    mutable = [name for name in variables if name != "params"]

    def step(state: Any, data: Any) -> Any:
        variables, memory = state

        def value(parameters: Any) -> Any:
            out, updated = model.apply({**variables, "params": parameters}, data[0], mutable=mutable)
            return loss(out, data[1]), updated

        gradients, updated = jax.grad(value, has_aux=True)(variables["params"])
        change, memory = optimizer.update(gradients, memory, variables["params"])
        return ({**updated, "params": optax.apply_updates(variables["params"], change)}, memory)

    return LibraryProgram(step, (variables, optimizer.init(variables["params"])), data)


def _of_classes(scores: Any, labels: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()


def _squared(out: Any, wanted: Any) -> Any:
    return ((out - wanted) ** 2).mean()


def _labels(*shape: int, classes: int = 8) -> np.ndarray:
    return np.random.default_rng(5).integers(0, classes, shape).astype(np.int32)


def mlp() -> LibraryProgram:
    """Train dense layers with dropout switched off."""
    model = nn.Sequential([nn.Dense(64), nn.relu, nn.Dropout(0.1, deterministic=True), nn.Dense(8)])
    return _training(model, _of_classes, (normal(16, 32), _labels(16)))


def transformer() -> LibraryProgram:
    """Train a causal language model."""
    tokens = _labels(8, 16, classes=64)
    return _training(LanguageModel(), _of_classes, (tokens, tokens), optax.adamw(1e-3))


def scanned_transformer() -> LibraryProgram:
    """Train blocks in a scan with rematerialization."""
    return _training(Scanned(), _squared, (normal(8, 16, 32), normal(8, 16, 32, seed=1)), optax.sgd(0.1))


def convolutions() -> LibraryProgram:
    """Train convolutions with batch norm."""
    return _training(Convolutions(), _of_classes, (normal(16, 16, 16, 4), _labels(16)), optax.sgd(0.1, 0.9))


def residual_net() -> LibraryProgram:
    """Train residual blocks with group norm."""
    return _training(Residual(), _of_classes, (normal(8, 16, 16, 4), _labels(8)), optax.sgd(0.1))


def autoencoder() -> LibraryProgram:
    """Train convolutions and transposed convolutions."""
    images = normal(8, 16, 16, 4)
    return _training(Autoencoder(), _squared, (images, images))


def lstm() -> LibraryProgram:
    """Train an LSTM."""
    return _training(Recurrent(nn.OptimizedLSTMCell(32)), _squared, (normal(8, 16, 16), normal(8, 16, 8, seed=1)))


def gru() -> LibraryProgram:
    """Train a GRU."""
    return _training(Recurrent(nn.GRUCell(32)), _squared, (normal(8, 16, 16), normal(8, 16, 8, seed=1)))


def separable_convolutions() -> LibraryProgram:
    """Train depthwise and pointwise convolutions."""
    model = nn.Sequential(
        [
            nn.Conv(16, (3, 3), feature_group_count=8),
            nn.relu,
            nn.Conv(16, (1, 1)),
            lambda x: nn.avg_pool(x, (2, 2), (2, 2)),
            lambda x: x.mean((1, 2)),
        ]
    )
    return _training(model, _squared, (normal(8, 16, 16, 8), normal(8, 16)), optax.sgd(0.1))


def decoding() -> LibraryProgram:
    """Decode one token with the cache of the attention."""
    model = nn.MultiHeadDotProductAttention(4, decode=True)
    variables = model.init(KEY, jnp.zeros((8, 16, 32)))

    def decode(variables: Any, token: Any) -> Any:
        return model.apply(variables, token, mutable=["cache"])

    return LibraryProgram(decode, variables, normal(8, 1, 32))


def sampled_dropout() -> LibraryProgram:
    """Apply dropout with a key and layer norm."""
    model = nn.Sequential([nn.Dense(64), nn.Dropout(0.5, deterministic=False), nn.LayerNorm(), nn.Dense(8)])
    variables = model.init({"params": KEY, "dropout": KEY}, normal(16, 32))

    def run(state: Any, x: Any) -> Any:
        variables, key = state
        return model.apply(variables, x, rngs={"dropout": jax.random.wrap_key_data(key)})

    return LibraryProgram(run, (variables, np.array([3, 4], np.uint32)), normal(16, 32))
