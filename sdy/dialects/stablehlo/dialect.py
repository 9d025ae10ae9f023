"""The StableHLO dialect: all ops, attributes and types."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.ir.declared_ops import declared_attributes
from sdy.dialects.stablehlo.attributes import attrs, enums, replica_groups, types
from sdy.dialects.stablehlo.families import DIALECT, all_ops
from sdy.dialects.stablehlo.syntax import dot_clauses

_WITH_ATTRIBUTES = (types, enums, attrs, dot_clauses, replica_groups)
STABLEHLO = Dialect(DIALECT, all_ops(), declared_attributes(*(module.__name__ for module in _WITH_ATTRIBUTES)))
