"""The ops and attributes of StableHLO, for front ends and passes: `from sdy.ir.stablehlo import DotOp`."""

# ruff: noqa: F403
from __future__ import annotations

from sdy.dialects.stablehlo.attributes.attrs import *
from sdy.dialects.stablehlo.attributes.enums import *
from sdy.dialects.stablehlo.attributes.types import *
from sdy.dialects.stablehlo.calls import *
from sdy.dialects.stablehlo.collectives import *
from sdy.dialects.stablehlo.contraction import *
from sdy.dialects.stablehlo.control import *
from sdy.dialects.stablehlo.elementwise import *
from sdy.dialects.stablehlo.gather_scatter import *
from sdy.dialects.stablehlo.linalg import *
from sdy.dialects.stablehlo.random import *
from sdy.dialects.stablehlo.reduction import *
from sdy.dialects.stablehlo.shape import *
from sdy.dialects.stablehlo.slicing import *
from sdy.dialects.stablehlo.syntax.dot_clauses import *
from sdy.dialects.stablehlo.tokens import *
from sdy.dialects.stablehlo.window import *
