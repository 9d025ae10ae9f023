"""The CHLO dialect: all ops and attributes."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.chlo import attrs, broadcast, elementwise, structured
from sdy.dialects.ir.declared_ops import declared_attributes

CHLO = Dialect("chlo", [*elementwise.OPS, *broadcast.OPS, *structured.OPS], declared_attributes(attrs.__name__))
