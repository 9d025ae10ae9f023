"""The meshes that a traced JAX function names, in its arguments or inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any, cast

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.sharding import AbstractMesh, AxisType, NamedSharding

AnyMesh = jax.sharding.Mesh | AbstractMesh


def traced_with_meshes(
    trace: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Any, list[AnyMesh]]:
    """Trace a call of a function; also return the meshes that it names, those of its arguments first.

    JAX lowers a function whose results have explicit axes only if the mesh of those axes is in force, or that of an
    argument. If it is neither, the function is traced again with this mesh in force.
    """
    traced = trace(*args, **kwargs)
    inner = list(dict.fromkeys(_meshes_in_params(traced._params)))
    known = [*_meshes_of(jax.tree.leaves((args, kwargs))), jax.sharding.get_abstract_mesh()]
    explicit = [each for each in inner if isinstance(each, AbstractMesh) and AxisType.Explicit in each.axis_types]
    is_new = bool(explicit) and all(each.empty for each in known)
    with jax.sharding.use_abstract_mesh(explicit[0]) if is_new else nullcontext():
        traced = trace(*args, **kwargs) if is_new else traced
    return traced, [each for each in (*known, *inner) if not each.empty]


def _meshes_in_params(params: Mapping[str, object]) -> Iterator[AnyMesh]:
    """Return the meshes in the parameters of a primitive or of a traced call, with those of nested functions."""
    leaves = cast(list[object], jax.tree.leaves(dict(params)))
    yield from _meshes_of(leaves)
    for leaf in leaves:
        if isinstance(leaf, ClosedJaxpr | Jaxpr):
            for equation in leaf.eqns:
                yield from _meshes_in_params(equation.params)
                yield from _meshes_of([var.aval for var in equation.outvars])


def _meshes_of(leaves: list[object]) -> Iterator[AnyMesh]:
    """Return the meshes among some values, and those of their shardings. The axes of none are manual."""
    for leaf in leaves:
        found = leaf if isinstance(leaf, NamedSharding) else getattr(leaf, "sharding", leaf)
        mesh = found.mesh if isinstance(found, NamedSharding) else found
        # inside of a shard_map, the axes of its mesh are manual
        if isinstance(mesh, jax.sharding.Mesh | AbstractMesh) and AxisType.Manual not in mesh.axis_types:
            yield mesh
