"""The axes that a collective moves: parameters of the `sdy` collectives. Source: docs/spec/01, 1.4.11."""

from __future__ import annotations

from typing import NamedTuple

from sdy.model.axis import AxisList

AxesPerDim = tuple[AxisList, ...]  # one list per dim, major first


class AllToAllParam(NamedTuple):
    """Move `axes` from the minor end of dim `source` to the minor end of dim `target`."""

    axes: AxisList
    source: int
    target: int
