"""The registration of the dialect `mpmd` in xDSL."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.mpmd.dialect import ops, propagation, regions
from sdy.mpmd.dialect.attrs import ATTRIBUTES
from sdy.mpmd.dialect.terminator import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType

propagation.register()
MPMD = Dialect("mpmd", [ReturnOp, *ops.OPS, *regions.OPS], [*ATTRIBUTES, MeshTensorType])
