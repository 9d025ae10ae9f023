"""Tactics: the steps in which a user shards a program, each of which propagates before the next one.

A tactic names arguments and results by patterns. `params.*.up` matches the argument `params['l0']['up']` of a JAX
function, `params` all leaves of that argument, and `%arg0` or `arg0` an argument by its name in the text. Names of
results begin with `result`: only patterns that begin so match results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdy.model.axis import AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.shape import StaticShape
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import is_bound, replicate_further, with_dim
from sdy.search.search_request import SECONDS


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard a dim of the values that match a pattern along an axis, at the minor end of the dim.

    Values without this dim, whose dim the axis does not divide, or that the axis already shards, stay as they are. At
    least one must change.
    """

    pattern: str
    dim: int
    axis: str

    def __str__(self) -> str:
        return f"shard {self.pattern} dim {self.dim} along {self.axis}"

    def changed(self, sharding: TensorSharding, shape: StaticShape, mesh: Mesh, priority: int) -> TensorSharding | str:
        """Return the new sharding of a value, or the reason why it cannot be sharded so."""
        if not -len(shape) <= self.dim < len(shape):
            return f"has {len(shape)} dims"
        if is_bound(sharding, self.axis):
            return f'already has axis "{self.axis}"'
        index, ref = self.dim % len(shape), AxisRef(self.axis)
        old = sharding.dims[index]
        size, axes = shape[index], (*old.axes, ref)
        count = sharded_size(axes, mesh)
        if size % count:
            return f"has a dim {self.dim} of size {size}, which {count} shards do not divide"
        # A dim has one priority: that of the first tactic that shards it.
        new = replace(old, axes=axes, priority=old.priority if old.axes else priority)
        return with_dim(sharding, index, new)


@dataclass(frozen=True, slots=True)
class Replicate:
    """Keep the values that match a pattern replicated along an axis, or along all axes that do not shard them yet."""

    pattern: str
    axis: str | None

    def __str__(self) -> str:
        return f"replicate {self.pattern}" + ("" if self.axis is None else f" along {self.axis}")

    def changed(self, sharding: TensorSharding, shape: StaticShape, mesh: Mesh, priority: int) -> TensorSharding | str:
        """Return the new sharding of a value, or the reason why it cannot be replicated."""
        names = (self.axis,) if self.axis is not None else tuple(axis.name for axis in mesh.axes)
        free = [name for name in names if not is_bound(sharding, name)]
        for name in free:
            sharding = replicate_further(sharding, name, mesh)
        return sharding if free or self.axis is None else f'already has axis "{self.axis}"'


@dataclass(frozen=True, slots=True)
class SearchRest:
    """Search for the shardings that earlier tactics left open; see `Program.search`."""

    memory: float | str | None
    minimize: str
    seconds: float

    def __str__(self) -> str:
        return "search the rest"


Annotation = Shard | Replicate
Tactic = Annotation | SearchRest


def shard(pattern: str, *, dim: int, axis: str) -> Shard:
    """Return the tactic that shards a dim of the arguments or results that match a pattern along a mesh axis.

    `pattern` is the name of an argument or a result, of a pytree, or has wildcards: `params.*.up`. A negative `dim`
    counts from the last one. Values that cannot be sharded so stay as they are; at least one must change.
    """
    return Shard(pattern, dim, axis)


def replicate(pattern: str, *, axis: str | None = None) -> Replicate:
    """Return the tactic that keeps matching values from being sharded along an axis, or along any further axis."""
    return Replicate(pattern, axis)


def search_rest(
    *, memory: float | str | None = None, minimize: str = "time", time_limit: float = SECONDS
) -> SearchRest:
    """Return the tactic that searches for the shardings that earlier tactics left open."""
    return SearchRest(memory, minimize, time_limit)
