# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Keras with the JAX backend: stateless calls of its layers and training steps."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import jax
import numpy as np

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

os.environ["KERAS_BACKEND"] = "jax"  # read when Keras is imported
keras: Any = import_module("keras")
layers: Any = keras.layers


def _training(model: Any, x: Any, wanted: Any) -> LibraryProgram:
    """Return a training step of a model, in the stateless form of Keras."""
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    def values(variables: Any) -> list[np.ndarray]:
        return [np.asarray(variable.value) for variable in variables]

    def loss(trainable: Any, fixed: Any, data: Any) -> Any:
        x, wanted = data
        out, fixed = model.stateless_call(trainable, fixed, x, training=True)
        return ((out - wanted) ** 2).mean(), fixed

    def step(state: Any, data: Any) -> Any:
        trainable, fixed, memory = state
        gradients, fixed = jax.grad(loss, has_aux=True)(trainable, fixed, data)
        trainable, memory = optimizer.stateless_apply(memory, gradients, trainable)
        return trainable, fixed, memory

    state = values(model.trainable_variables), values(model.non_trainable_variables), values(optimizer.variables)
    return LibraryProgram(step, state, (x, wanted))


def mlp() -> LibraryProgram:
    """Train dense layers with batch norm."""
    model = keras.Sequential(
        [keras.Input((16,)), layers.Dense(64, activation="relu"), layers.BatchNormalization(), layers.Dense(8)]
    )
    return _training(model, normal(32, 16), normal(32, 8, seed=1))


def convolutions() -> LibraryProgram:
    """Train convolutions and pooling."""
    model = keras.Sequential(
        [
            keras.Input((16, 16, 4)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(16, 3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(8),
        ]
    )
    return _training(model, normal(8, 16, 16, 4), normal(8, 8, seed=1))


def lstm() -> LibraryProgram:
    """Train a bidirectional LSTM."""
    model = keras.Sequential([keras.Input((16, 8)), layers.Bidirectional(layers.LSTM(16)), layers.Dense(8)])
    return _training(model, normal(8, 16, 8), normal(8, 8, seed=1))


def attention() -> LibraryProgram:
    """Train a transformer block with embeddings."""
    inputs = keras.Input((16,), dtype="int32")
    x = layers.Embedding(64, 32)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8)(x, x, use_causal_mask=True))
    x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(x))
    tokens = np.random.default_rng(0).integers(0, 64, (8, 16)).astype(np.int32)
    return _training(keras.Model(inputs, layers.Dense(8)(x)), tokens, normal(8, 16, 8))


def convolutional_lstm() -> LibraryProgram:
    """Train an LSTM whose gates are convolutions."""
    model = keras.Sequential([keras.Input((4, 8, 8, 4)), layers.ConvLSTM2D(8, 3, padding="same"), layers.Flatten()])
    return _training(model, normal(8, 4, 8, 8, 4), normal(8, 512, seed=1))
