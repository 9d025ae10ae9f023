"""Lowers a JAX function whose arguments and shardings are on different meshes of equal shape, as if on one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jax.sharding import AbstractMesh, NamedSharding

from sdy.jax.to_stablehlo.lowering import Lowered, lower


@dataclass(frozen=True)
class RebasedCall:
    """A lowered call on one mesh."""

    lowered: Lowered[Any]

    def assignment(self, prefix: Any, *, is_input: bool) -> str:
        """Return the option that places arguments or results, from a prefix tree of names of meshes, or None."""
        signature = self.lowered.signature
        if prefix == () or prefix is None:
            return ""
        tree = signature.in_tree if is_input else signature.out_tree
        full = jax.tree.unflatten(tree, range(tree.num_leaves))
        names = jax.tree.leaves(
            jax.tree.broadcast(prefix, full[0] if is_input else full, is_leaf=_is_none), is_leaf=_is_none
        )
        kept = sorted(signature.used) if is_input else range(len(names))
        return ",".join(f"{position}@{names[index]}" for position, index in enumerate(kept) if names[index] is not None)


def _is_none(each: object) -> bool:
    return each is None


def devices_of(meshes: Iterable[Any]) -> tuple[object, ...]:
    """Return the devices of meshes, one mesh after the other; none if one is abstract."""
    found = list(meshes)
    if any(isinstance(mesh, AbstractMesh) for mesh in found):
        return ()
    return tuple(device for mesh in found for device in mesh.devices.flat)


def rebased_call(
    func: Callable[..., Any],
    mesh: Any,
    args: Sequence[Any],
    in_shardings: Any,
    out_shardings: Any,
    donate_argnums: int | Sequence[int],
) -> RebasedCall:
    """Lower a call of `func` with all shardings on `mesh`. Raises: ValueError if one is on a mesh of another shape."""

    def sharding(each: Any, what: str) -> Any:
        if not isinstance(each, NamedSharding):
            return each
        if dict(each.mesh.shape) != dict(mesh.shape):
            message = "Sharding mismatch when standardizing sharding to use the same mesh for"
            raise ValueError(f'{message} "{what}": {each.mesh} has other axes than {mesh}.')
        return NamedSharding(mesh, each.spec)

    def argument(each: Any) -> Any:
        found = sharding(getattr(each, "sharding", None), "lowering_args")
        known = found if isinstance(found, NamedSharding) else None
        return jax.ShapeDtypeStruct(jax.numpy.shape(each), jax.dtypes.result_type(each), sharding=known)

    options: dict[str, Any] = {"donate_argnums": donate_argnums}
    for name, given in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if given is not None:
            options[name] = jax.tree.map(partial(sharding, what=name), given)
    return RebasedCall(lower(jax.jit(func, **options), jax.tree.map(argument, tuple(args)), {}))
