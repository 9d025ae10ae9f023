"""Tensor shardings: the mesh axes that each dim of a tensor is sharded along.

Source: docs/spec/01, 1.4.5, 1.4.6 and 3.2 to 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sdy.model.axis import AxisList, AxisRef, symbol
from sdy.model.cached_hash import CachedHash
from sdy.model.html_repr import HtmlRepr
from sdy.model.mesh import Mesh


class ReductionKind(Enum):
    """The reduction that combines the partial values of an unreduced tensor. The enum value is its keyword."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class DimSharding(CachedHash):
    """The axes that one dim is sharded along, major first. Propagation may append axes to an open dim.

    A `priority` of None means the same as 0, but the two are different values, so that a written `p0` is printed again.
    """

    axes: AxisList = ()
    is_closed: bool = True
    priority: int | None = None

    __hash__ = CachedHash.__hash__

    def __str__(self) -> str:
        members = ", ".join((*map(str, self.axes), *(() if self.is_closed else ("?",))))
        return f"{{{members}}}" if self.priority is None else f"{{{members}}}p{self.priority}"

    def __repr__(self) -> str:
        return f"DimSharding({self})"

    @property
    def effective_priority(self) -> int:
        """The priority, 0 if none is written. Smaller numbers are propagated first."""
        return self.priority or 0


UNSHARDED = DimSharding()  # and closed


@dataclass(frozen=True, slots=True)
class TensorSharding(CachedHash, HtmlRepr):
    """The sharding of a tensor on a mesh, which is given by name or inlined.

    Axes that neither shard a dim nor are unreduced are replicated; listing them in `replicated` keeps propagation from
    using them. A tensor that is *unreduced* along an axis holds partial values along it, to be combined by
    `unreduced_kind`. In a valid sharding, both lists are in mesh order.
    """

    mesh: str | Mesh
    dims: tuple[DimSharding, ...]
    replicated: AxisList = ()
    unreduced: AxisList = ()
    unreduced_kind: ReductionKind = ReductionKind.SUM

    __hash__ = CachedHash.__hash__

    def __str__(self) -> str:
        return self._text(symbol(self.mesh) if isinstance(self.mesh, str) else f"mesh{self.mesh}")

    def __repr__(self) -> str:
        """Return one line, which is short on any mesh: `TensorSharding(<@mesh, [{"x"}, {}]>)`."""
        mesh = symbol(self.mesh) if isinstance(self.mesh, str) else f"mesh{self.mesh.short_text}"
        return f"TensorSharding({self._text(mesh)})"

    def _text(self, mesh: str) -> str:
        text = f"<{mesh}, [{', '.join(map(str, self.dims))}]"
        if self.replicated:
            text += f", replicated={{{', '.join(map(str, self.replicated))}}}"
        if self.unreduced:
            kind = "" if self.unreduced_kind is ReductionKind.SUM else self.unreduced_kind.value
            text += f", unreduced={kind}{{{', '.join(map(str, self.unreduced))}}}"
        return f"{text}>"

    @property
    def rank(self) -> int:
        """The number of dim shardings."""
        return len(self.dims)

    @property
    def is_fully_closed(self) -> bool:
        """Return whether no dim is open."""
        return all(dim.is_closed for dim in self.dims)

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether no dim is sharded. The `replicated` and `unreduced` axes do not matter."""
        for dim in self.dims:  # noqa: SIM110 -- a generator takes twice as long, and this is asked of every value many times
            if dim.axes:
                return False
        return True

    @property
    def has_no_axes(self) -> bool:
        """Return whether the sharding refers to no axis."""
        return self.is_fully_replicated and not self.replicated and not self.unreduced

    def axis_refs(self) -> Iterator[AxisRef]:
        """Yield every axis ref: those of the dims in order, then the replicated ones, then the unreduced ones."""
        for dim in self.dims:
            yield from dim.axes
        yield from self.replicated
        yield from self.unreduced
