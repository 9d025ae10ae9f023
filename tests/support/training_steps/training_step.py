# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""A training step, and the shardings that people write for one by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import sdy
from sdy.program.program import Program

MESH = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
Entries = tuple[Any, ...]
Rule = Callable[[tuple[int, ...]], Entries]


@dataclass(frozen=True)
class TrainingStep:
    """A loss of parameters and a batch, whose leaves have the batch in dim 0. `params` and `batch` are trees of shapes.

    The optimizer is AdamW.
    """

    loss: Callable[[Any, Any], Any]
    params: Any
    batch: Any

    def program(self, sharding: str) -> Program[Any]:
        """Return the step with one of `SHARDINGS`: its state is returned as it is passed."""
        of_weights, of_batch = SHARDINGS[sharding]
        trees = self.trees
        placed = {name: _placed(tree, of_batch if name == "batch" else of_weights) for name, tree in trees.items()}
        return self._program(placed)

    def program_with(self, rules: Mapping[str, PartitionSpec]) -> Program[Any]:
        """Return the step with rules for the paths of the parameters, the state and the batch."""
        shardings = sdy.shardings(self.trees, rules, MESH)

        def placed(leaf: Any, sharding: Any) -> Any:
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

        return self._program(jax.tree.map(placed, self.trees, shardings))

    @property
    def trees(self) -> dict[str, Any]:
        """The arguments of the step by name, as trees of shapes."""
        return {"params": self.params, "state": jax.eval_shape(_optimizer().init, self.params), "batch": self.batch}

    def _program(self, placed: Mapping[str, Any]) -> Program[Any]:
        optax: Any = import_module("optax")

        def step(params: Any, state: Any, batch: Any) -> Any:
            value, gradients = jax.value_and_grad(self.loss)(params, batch)
            updates, state = _optimizer().update(gradients, state, params)
            return optax.apply_updates(params, updates), state, value

        state = [placed["params"], placed["state"]]
        outputs: Any = (*(jax.tree.map(lambda leaf: leaf.sharding, tree) for tree in state), None)
        jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=outputs)
        return sdy.from_jax(jitted, *state, placed["batch"])


def _optimizer() -> Any:
    optax: Any = import_module("optax")
    return optax.adamw(1e-3)


def _placed(tree: Any, rule: Rule) -> Any:
    def placed(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, sharding=NamedSharding(MESH, PartitionSpec(*rule(leaf.shape)))
        )

    return jax.tree.map(placed, tree)


def _batch_along(*axes: str) -> Rule:
    return lambda shape: (axes,)


def _replicated(_: tuple[int, ...]) -> Entries:
    return ()


def _largest_dims(*groups: tuple[str, ...]) -> Rule:
    """Return the rule that shards the largest dims of a weight, one along each group of axes that divides it."""

    def entries(shape: tuple[int, ...]) -> Entries:
        found: list[Any] = [None] * len(shape)
        left = list(groups)
        for dim in sorted(range(len(shape)), key=lambda dim: -shape[dim]) if len(shape) > 1 else ():
            group = next((each for each in left if shape[dim] % _size(each) == 0), None)
            if group is not None:
                found[dim] = group
                left.remove(group)
        return tuple(found)

    return entries


def _last_dim(shape: tuple[int, ...]) -> Entries:
    return (*[None] * (len(shape) - 1), "model") if len(shape) > 1 and shape[-1] % MESH.shape["model"] == 0 else ()


def _size(axes: tuple[str, ...]) -> int:
    size = 1
    for axis in axes:
        size *= MESH.shape[axis]
    return size


FIRST = "FSDP x tensor"  # as a person would first write it
# name: the rules for the weights and the state of the optimizer, and for the batch
SHARDINGS: Mapping[str, tuple[Rule, Rule]] = {
    FIRST: (_largest_dims(("data",), ("model",)), _batch_along("data")),
    "FSDP": (_largest_dims(("data", "model")), _batch_along("data", "model")),
    "tensor": (_last_dim, _batch_along("data")),
    "data": (_replicated, _batch_along("data", "model")),
    "FSDP along one axis": (_largest_dims(("data",)), _batch_along("data")),
}
