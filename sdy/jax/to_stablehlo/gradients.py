"""Functions that return gradients beside their results, for comparisons of two functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from sdy.jax.jitted import JittedFunction
from sdy.jax.to_stablehlo.pytrees import flattened


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """A call to lower: a function that keeps all arguments, also unused ones, and its positional arguments.

    `has_arrays` is whether all arguments are arrays, not shapes.
    """

    fn: Callable[..., Any]
    args: tuple[object, ...]
    has_arrays: bool


def compared_call(
    fn: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object], *, gradients: bool, seed: int
) -> ComparedCall:
    """Return a call of `fn` that is lowered to be compared with another one.

    With `gradients`, it takes a cotangent for each result of floats as well, and returns the gradients for all
    arguments of floats after the results. Cotangents are normally distributed if all arguments are arrays, else they
    are shapes.
    """
    fn = fn.jitted if isinstance(fn, JittedFunction) else fn
    leaves, structure = flattened((args, dict(kwargs)))
    has_arrays = not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    if not gradients:
        return ComparedCall(jax.jit(fn, keep_unused=True), args, has_arrays)
    places = [place for place, leaf in enumerate(leaves) if _is_inexact(leaf)]

    @wraps(fn)
    def with_gradients(cotangents: list[Any], *args: object, **kwargs: object) -> tuple[Any, list[Any]]:
        leaves = jax.tree.leaves((args, kwargs))

        def of_floats(floats: list[Any]) -> tuple[list[Any], Any]:
            values = dict(zip(places, floats, strict=True))
            these: list[Any] = [values.get(place, leaf) for place, leaf in enumerate(leaves)]
            these_args, these_kwargs = jax.tree.unflatten(structure, these)
            result = fn(*these_args, **these_kwargs)
            return [leaf for leaf in jax.tree.leaves(result) if _is_inexact(leaf)], result

        floats = [leaves[place] for place in places]
        _, pull, result = cast(tuple[Any, Any, Any], jax.vjp(of_floats, floats, has_aux=True))
        return result, pull(cotangents)[0]

    results = jax.tree.leaves(jax.eval_shape(fn, *args, **kwargs))
    cotangents: list[Any] = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in results if _is_inexact(each)]
    if has_arrays:
        generator = np.random.default_rng(seed)
        cotangents = [jnp.asarray(generator.standard_normal(each.shape), each.dtype) for each in cotangents]
    return ComparedCall(jax.jit(with_gradients, keep_unused=True), (cotangents, *args), has_arrays)


def _is_inexact(leaf: Any) -> bool:
    dtype = leaf.dtype if hasattr(leaf, "dtype") else jnp.result_type(leaf)
    return bool(jnp.issubdtype(dtype, jnp.inexact))
