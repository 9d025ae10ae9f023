"""Tensor shardings: how each dim of a tensor is cut over the axes of a mesh.

Source: docs/spec/01, 1.4.5, 1.4.6 and 3.2 to 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sdy.model.axis import AxisList, AxisRef
from sdy.model.cached_hash import CachedHash
from sdy.model.mesh import Mesh


class ReductionKind(Enum):
    """How the partial values of an unreduced tensor combine. The value is the word in the text."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class DimSharding(CachedHash):
    """The axes that cut one dim, major first. Open: propagation may append further ones.

    `priority` None and 0 mean the same rank, yet are different values: a written `p0` is printed back.
    """

    axes: AxisList = ()
    is_closed: bool = True
    priority: int | None = None

    __hash__ = CachedHash.__hash__

    @property
    def effective_priority(self) -> int:
        """The priority, 0 where none is written: smaller ones are propagated first."""
        return self.priority or 0


@dataclass(frozen=True, slots=True)
class TensorSharding(CachedHash):
    """How a tensor is laid out on a mesh, named by its symbol or given inline.

    Axes that neither cut a dim nor are listed as unreduced are replicated; listing them in `replicated` keeps
    propagation from using them. A tensor *unreduced* on an axis holds partial values along it, which combine by
    `unreduced_kind`. Both lists are in mesh order in a valid sharding.
    """

    mesh: str | Mesh
    dims: tuple[DimSharding, ...]
    replicated: AxisList = ()
    unreduced: AxisList = ()
    unreduced_kind: ReductionKind = ReductionKind.SUM

    __hash__ = CachedHash.__hash__

    @property
    def rank(self) -> int:
        """How many dims the sharding speaks of."""
        return len(self.dims)

    @property
    def is_fully_closed(self) -> bool:
        """No dim is open."""
        return all(dim.is_closed for dim in self.dims)

    @property
    def is_fully_replicated(self) -> bool:
        """No dim is cut; what `replicated` and `unreduced` say is irrelevant to this notion."""
        for dim in self.dims:  # noqa: SIM110 -- a generator takes twice as long, and every value is asked often
            if dim.axes:
                return False
        return True

    @property
    def has_no_axes(self) -> bool:
        """Mentions no axis at all."""
        return self.is_fully_replicated and not self.replicated and not self.unreduced

    def axis_refs(self) -> Iterator[AxisRef]:
        """Every axis ref: of the dims in order, then replicated, then unreduced."""
        for dim in self.dims:
            yield from dim.axes
        yield from self.replicated
        yield from self.unreduced
