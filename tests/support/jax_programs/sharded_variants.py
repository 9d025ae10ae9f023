# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
"""A JAX function with shardings: of its first argument, of all arguments, or of its first result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding

from support.jax_programs.functions import mesh, sharding
from support.jax_programs.library_functions import LibraryCase

Entry = str | tuple[str, ...] | None


def fitting(shape: Sequence[int], entries: Sequence[Entry]) -> NamedSharding:
    """Return a sharding with those entries whose axes divide the dims."""
    fits = [entry if size % _device_count(entry) == 0 else None for size, entry in zip(shape, entries, strict=False)]
    return sharding(*fits)


def _device_count(entry: Entry) -> int:
    names = (entry,) if isinstance(entry, str) else entry or ()
    count = 1
    for name in names:
        count *= mesh().shape[name]
    return count


def first_argument_is_sharded(case: LibraryCase) -> tuple[Any, Sequence[object]]:
    first, *rest = case.arguments
    return jax.jit(case.function), (with_sharding(first, ("x", "y")), *rest)


def all_arguments_are_sharded(case: LibraryCase) -> tuple[Any, Sequence[object]]:
    entries = [(None, ("x", "y")) if len(each.shape) > 1 else ("y",) for each in case.arguments]
    return jax.jit(case.function), list(map(with_sharding, case.arguments, entries))


def first_result_is_sharded(case: LibraryCase) -> tuple[Any, Sequence[object]]:
    results: Any = jax.eval_shape(case.function, *case.arguments)
    first, *rest = jax.tree.leaves(results)
    shardings = [fitting(first.shape, ("y", "x")), *(None for _ in rest)]
    structure: Any = jax.tree.structure(results)
    tree: Any = jax.tree.unflatten(structure, shardings)
    return jax.jit(case.function, out_shardings=tree), case.arguments


VARIANTS: dict[str, Callable[[LibraryCase], tuple[Any, Sequence[object]]]] = {
    "first argument": first_argument_is_sharded,
    "all arguments": all_arguments_are_sharded,
    "first result": first_result_is_sharded,
}


def with_sharding(argument: jax.ShapeDtypeStruct, entries: Sequence[Entry]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(argument.shape, argument.dtype, sharding=fitting(argument.shape, entries))
