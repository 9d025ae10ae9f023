"""Keys of calls: two calls with equal keys run the same compiled program, as for `jax.jit`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import jax
import numpy as np

# Parts of JAX without public names: what a trace depends on beside the arguments, and whether one is in progress.
_TRACE_CONTEXT: Any = import_module("jax._src.config").trace_context
_IS_OUTSIDE_OF_TRACES: Any = import_module("jax._src.core").trace_state_clean
_TRACER: type[object] = import_module("jax.core").Tracer
_SCALARS = (bool, int, float, complex)


class OtherCallError(Exception):
    """A call that `jax.jit` runs: one inside of a transformation, or with arguments that are not arrays."""


@dataclass(frozen=True)
class StaticArguments:
    """The positions and names of the static arguments of a function."""

    numbers: frozenset[int]
    names: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    @staticmethod
    def of(jitted: Any) -> StaticArguments:
        """Return the static arguments of a function that JAX has jitted."""
        info = jitted._jit_info  # JAX has added the names of positions, and the positions of names
        return StaticArguments(frozenset(info.static_argnums), frozenset(info.static_argnames))

    def dynamic(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call that are not static."""
        numbers = self._numbers_in(args)
        rest = tuple(each for index, each in enumerate(args) if index not in numbers)
        return rest, {name: each for name, each in kwargs.items() if name not in self.names}

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Return the static arguments of a call with their types, in an order that does not depend on the call."""
        given = [(index, args[index]) for index in sorted(self._numbers_in(args))]
        named = [(name, kwargs[name]) for name in sorted(self.names & kwargs.keys())]
        return tuple((where, cast("Hashable", type(each)), each) for where, each in (*given, *named))

    def _numbers_in(self, args: tuple[Any, ...]) -> set[int]:
        """Return the positions of the static arguments of a call; negative ones count from its end."""
        count = len(args)
        return {index % count for index in self.numbers if -count <= index < count}


def call_key(static: StaticArguments, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Hashable:
    """Return the key of a call: the structure, types and shardings of its arguments, static values, JAX's settings.

    Raises: OtherCallError if the call is inside of a transformation of JAX, or has an argument that is not an array.
    """
    if not _IS_OUTSIDE_OF_TRACES():
        raise OtherCallError("it is called inside of a transformation of JAX")
    known: Hashable = None
    if static:
        known = static.values(args, kwargs)
        args, kwargs = static.dynamic(args, kwargs)
    leaves, structure = cast("tuple[list[Any], Hashable]", jax.tree.flatten((args, dict(kwargs))))
    return structure, tuple(map(_leaf_key, leaves)), known, _TRACE_CONTEXT()


def _leaf_key(leaf: Any) -> Hashable:
    array: Any = leaf
    if isinstance(leaf, _TRACER):
        raise OtherCallError("it is called inside of a transformation of JAX")
    if isinstance(leaf, jax.Array):
        return array.aval, array.sharding, array.committed
    if isinstance(leaf, (np.ndarray, np.generic)):
        return array.shape, array.dtype
    if type(leaf) in _SCALARS:
        return cast("Hashable", type(leaf))
    raise OtherCallError(f"an argument has the type {type(leaf).__name__}")
