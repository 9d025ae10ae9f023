"""Converts between the pytrees of a JAX function and the flat arrays of its lowered program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import jax
import numpy as np

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import TOKEN_DTYPE, Array

R = TypeVar("R")
PyTreeDef = Any  # untyped in JAX


@dataclass(frozen=True, slots=True)
class Leaf:
    """The shape and dtype of a leaf. For random keys they differ from those of the array in the program."""

    shape: tuple[int, ...]
    dtype: Any  # a NumPy dtype, or a JAX key dtype

    @property
    def is_key(self) -> bool:
        """Whether the leaf is an array of random keys, which the program represents as integers."""
        return bool(jax.numpy.issubdtype(self.dtype, jax.dtypes.prng_key))


@dataclass(frozen=True)
class TreeSignature(Generic[R]):
    """The signature of a lowered function. `in_tree` covers its positional and its keyword arguments.

    JAX drops unused arguments from the program: `used` are the indices of the leaves that it keeps.
    """

    in_tree: PyTreeDef
    out_tree: PyTreeDef
    arguments: tuple[Leaf, ...]
    returned: tuple[Leaf, ...]
    used: frozenset[int]
    tokens: int = 0  # of ordered effects: the first arguments and results of the program, which the function lacks

    def flat_arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[Array]:
        """Return the arrays that a call passes to the program, with the dtypes to which JAX would convert them.

        Raises: SdyError SDY-X106 if the structure differs from that of the lowered call.
        """
        leaves = _leaves((args, dict(kwargs)), self.in_tree, "arguments")
        return [*self._tokens, *(_to_numpy(leaves[index], self.arguments[index]) for index in sorted(self.used))]

    @property
    def _tokens(self) -> list[Array]:
        return [np.zeros((), TOKEN_DTYPE)] * self.tokens

    def flat_results(self, results: object) -> list[Array]:
        """Return the arrays of a pytree of results. Raises: SdyError SDY-X106 if it has another structure."""
        leaves = _leaves(results, self.out_tree, "results")
        return [*self._tokens, *(_to_numpy(leaf, like) for leaf, like in zip(leaves, self.returned, strict=True))]

    def results(self, flat: Sequence[Array]) -> R:
        """Return the output pytree of the function. Leaves are NumPy arrays, or JAX arrays for random keys."""
        return self._result_pytree(flat)

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """Return the argument pytree with one of `leaves` per used argument and None for each unused one.

        The result is a tuple of the positional arguments, or `(args, kwargs)` if there are keyword arguments.
        """
        by_index = dict(zip(sorted(self.used), leaves[self.tokens :], strict=True))
        all_leaves = [_without_key_dim(by_index.get(index), leaf) for index, leaf in enumerate(self.arguments)]
        args, kwargs = jax.tree.unflatten(self.in_tree, all_leaves)
        return (args, kwargs) if kwargs else args

    def result_tree(self, leaves: Sequence[object]) -> object:
        """Return the result pytree with the given leaves."""
        all_leaves = [
            _without_key_dim(each, leaf) for each, leaf in zip(leaves[self.tokens :], self.returned, strict=True)
        ]
        return jax.tree.unflatten(self.out_tree, all_leaves)

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., R]:
        """Return a function of pytrees that calls `flat`, a function of flat JAX arrays."""

        def on_trees(*args: object, **kwargs: object) -> R:
            leaves = _leaves((args, kwargs), self.in_tree, "arguments")
            used = (_to_jax(leaves[index], self.arguments[index]) for index in sorted(self.used))
            return self._result_pytree(flat(*used))

        return on_trees

    def _result_pytree(self, flat: Sequence[Any]) -> R:
        leaves: list[object] = [
            jax.random.wrap_key_data(array, dtype=leaf.dtype) if leaf.is_key else array
            for array, leaf in zip(flat[self.tokens :], self.returned, strict=True)
        ]
        return jax.tree.unflatten(self.out_tree, leaves)


def flattened(value: object) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a pytree, and its structure."""
    return cast(tuple[list[Any], PyTreeDef], jax.tree.flatten(value))


def _leaves(value: object, expected: PyTreeDef, what: str) -> list[Any]:
    """Return the leaves of a pytree. Raises: SdyError SDY-X106 if it does not have the expected structure."""
    leaves, structure = flattened(value)
    if structure != expected:
        message = f"expected {what} of the structure {expected}, got {structure}"
        raise SdyError(Diagnostic("SDY-X106", message, hint="omit static arguments"))
    return leaves


def _to_numpy(value: Any, like: Leaf) -> Array:
    array = np.asarray(jax.random.key_data(value) if like.is_key else value)
    is_converted = array.dtype != like.dtype and jax.dtypes.canonicalize_dtype(array.dtype) == like.dtype
    return array.astype(like.dtype) if is_converted else array


def _to_jax(value: Any, like: Leaf) -> Any:
    return jax.random.key_data(value) if like.is_key else value


def _without_key_dim(leaf: Any, like: Leaf) -> Any:
    """Convert a sharding of the integers of random keys to a sharding of the keys, which have one dim less."""
    if not like.is_key or not isinstance(leaf, jax.sharding.NamedSharding):
        return leaf
    return leaf.update(spec=jax.sharding.PartitionSpec(*leaf.spec[: len(like.shape)]))
