"""Between the trees of a JAX function and the arrays in a row that its lowered program takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import jax
import numpy as np

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import Array

R = TypeVar("R")
PyTreeDef = Any  # JAX leaves it untyped


@dataclass(frozen=True, slots=True)
class Leaf:
    """Shape and dtype of a leaf of a tree. Of random keys they are not those of the array in the program."""

    shape: tuple[int, ...]
    dtype: Any  # a NumPy dtype, or one of JAX's for keys

    @property
    def is_key(self) -> bool:
        """Whether it is an array of random keys, which a program has as integers."""
        return bool(jax.numpy.issubdtype(self.dtype, jax.dtypes.prng_key))


@dataclass(frozen=True)
class TreeSignature(Generic[R]):
    """The signature of a lowered function. `in_tree` is that of its positional and its named arguments.

    A program has only the arguments that the function uses: `used` are their places among the leaves.
    """

    in_tree: PyTreeDef
    out_tree: PyTreeDef
    arguments: tuple[Leaf, ...]
    returned: tuple[Leaf, ...]
    used: frozenset[int]

    def flat_arguments(self, given: tuple[object, ...], named: Mapping[str, object]) -> list[Array]:
        """The arrays that a call gives to the program; its dtypes are those that JAX would make of them.

        Raises: SdyError SDY-X106 where the call has another structure than the one that was lowered.
        """
        leaves = _leaves((given, dict(named)), self.in_tree, "arguments")
        return [_to_numpy(leaves[place], self.arguments[place]) for place in sorted(self.used)]

    def flat_results(self, given: object) -> list[Array]:
        """The arrays of a tree of results. Raises: SdyError SDY-X106 where it has another structure."""
        leaves = _leaves(given, self.out_tree, "results")
        return [_to_numpy(leaf, like) for leaf, like in zip(leaves, self.returned, strict=True)]

    def results(self, flat: Sequence[Array]) -> R:
        """The tree that the function returns: NumPy arrays, and JAX's for random keys."""
        return self._returned(flat)

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """The arguments' tree with `leaves` in place of those that the program has, None for those it has not.

        Positional arguments only, where no others were given.
        """
        by_place = dict(zip(sorted(self.used), leaves, strict=True))
        every = [_without_key_dim(by_place.get(place), leaf) for place, leaf in enumerate(self.arguments)]
        positional, named = jax.tree.unflatten(self.in_tree, every)
        return (positional, named) if named else positional

    def result_tree(self, leaves: Sequence[object]) -> object:
        """The results' tree with `leaves` in it."""
        every = [_without_key_dim(each, leaf) for each, leaf in zip(leaves, self.returned, strict=True)]
        return jax.tree.unflatten(self.out_tree, every)

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., R]:
        """A function of JAX arrays in a row as one of the function's trees."""

        def on_trees(*given: object, **named: object) -> R:
            leaves = _leaves((given, named), self.in_tree, "arguments")
            return self._returned(flat(*(_to_jax(leaves[place], self.arguments[place]) for place in sorted(self.used))))

        return on_trees

    def _returned(self, flat: Sequence[Any]) -> R:
        leaves: list[object] = [
            jax.random.wrap_key_data(array, dtype=leaf.dtype) if leaf.is_key else array
            for array, leaf in zip(flat, self.returned, strict=True)
        ]
        return jax.tree.unflatten(self.out_tree, leaves)


def _leaves(given: object, tree: PyTreeDef, what: str) -> list[Any]:
    leaves, found = cast(tuple[list[Any], PyTreeDef], jax.tree.flatten(given))
    if found != tree:
        message = f"the {what} have the structure {found}, the function was lowered for {tree}"
        raise SdyError(Diagnostic("SDY-X106", message, hint="static arguments are left out"))
    return leaves


def _to_numpy(value: Any, like: Leaf) -> Array:
    array = np.asarray(jax.random.key_data(value) if like.is_key else value)
    is_same = array.dtype != like.dtype and jax.dtypes.canonicalize_dtype(array.dtype) == like.dtype
    return array.astype(like.dtype) if is_same else array


def _to_jax(value: Any, like: Leaf) -> Any:
    return jax.random.key_data(value) if like.is_key else value


def _without_key_dim(leaf: Any, like: Leaf) -> Any:
    """A sharding of the integers of keys as one of the keys, which have fewer dims."""
    if not like.is_key or not isinstance(leaf, jax.sharding.NamedSharding):
        return leaf
    return leaf.update(spec=jax.sharding.PartitionSpec(*leaf.spec[: len(like.shape)]))
