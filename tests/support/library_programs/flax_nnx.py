# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Flax NNX: training steps of its modules, split into a graph and a state."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp

from support.library_programs.plain_jax import normal
from support.library_programs.program import LibraryProgram

nnx: Any = import_module("flax.nnx")
optax: Any = import_module("optax")


class Attention(nnx.Module):
    """Attention and a dense layer with residuals."""

    def __init__(self, rngs: Any, size: int = 32) -> None:
        self.norm = nnx.RMSNorm(size, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, size, decode=False, rngs=rngs)
        self.dense = nnx.Linear(size, size, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norm(x))
        return x + nnx.gelu(self.dense(x))


class Convolutions(nnx.Module):
    """Convolutions with batch norm."""

    def __init__(self, rngs: Any) -> None:
        self.first = nnx.Conv(4, 16, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.second = nnx.Conv(16, 32, (3, 3), strides=2, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.second(nnx.relu(self.norm(self.first(x)))).mean((1, 2))


class Recurrent(nnx.Module):
    """An LSTM over a sequence."""

    def __init__(self, rngs: Any) -> None:
        self.rnn = nnx.RNN(nnx.OptimizedLSTMCell(16, 32, rngs=rngs))

    def __call__(self, x: Any) -> Any:
        return self.rnn(x)


class Adapted(nnx.Module):
    """Dense layers with low-rank adapters."""

    def __init__(self, rngs: Any) -> None:
        self.first = nnx.LoRALinear(32, 64, lora_rank=4, rngs=rngs)
        self.second = nnx.LoRALinear(64, 32, lora_rank=4, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.second(jnp.tanh(self.first(x)))


def _training(module: Any, x: Any, wanted: Any) -> LibraryProgram:
    """Return a training step of a module, with its batch statistics."""
    graph, parameters, rest = nnx.split(module, nnx.Param, ...)
    optimizer = optax.adam(1e-3)

    def step(state: Any, data: Any) -> Any:
        parameters, rest, memory = state
        x, wanted = data

        def loss(parameters: Any) -> Any:
            model = nnx.merge(graph, parameters, rest, copy=True)
            value = ((model(x) - wanted) ** 2).mean()
            return value, nnx.split(model, nnx.Param, ...)[2]

        gradients, rest = jax.grad(loss, has_aux=True)(parameters)
        change, memory = optimizer.update(gradients, memory, parameters)
        return jax.tree.leaves((optax.apply_updates(parameters, change), rest, memory))

    return LibraryProgram(step, (parameters, rest, optimizer.init(parameters)), (x, wanted))


def attention() -> LibraryProgram:
    """Train attention with RMS norm."""
    return _training(Attention(nnx.Rngs(0)), normal(8, 16, 32), normal(8, 16, 32, seed=1))


def convolutions() -> LibraryProgram:
    """Train convolutions with batch norm."""
    return _training(Convolutions(nnx.Rngs(0)), normal(16, 16, 16, 4), normal(16, 32, seed=1))


def lstm() -> LibraryProgram:
    """Train an LSTM."""
    return _training(Recurrent(nnx.Rngs(0)), normal(8, 16, 16), normal(8, 16, 32, seed=1))


def low_rank_adapters() -> LibraryProgram:
    """Train dense layers with adapters."""
    return _training(Adapted(nnx.Rngs(0)), normal(16, 32), normal(16, 32, seed=1))
