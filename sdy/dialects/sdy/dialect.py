"""The registration of the `sdy` dialect in xDSL."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.sdy import collectives, ops, regions
from sdy.dialects.sdy.attrs import ATTRIBUTES

SDY = Dialect("sdy", [*ops.OPS, *regions.OPS, *collectives.OPS], ATTRIBUTES)
