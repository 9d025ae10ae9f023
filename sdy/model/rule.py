"""Sharding rules: which dims of an op's operands and results correspond, in terms of factors.

A rule such as `([i, k], [k, j])->([i, j]) {i=8, j=32, k=16} reduction={k}` names *factors*; each dim of each
tensor maps to a non-empty list of them, major first. Source: docs/spec/01, 1.4.8 and 3.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NewType

from sdy.model.hashed_once import HashedOnce

FactorIndex = NewType("FactorIndex", int)  # counts the factors of one rule
DimIndex = NewType("DimIndex", int)  # counts the dims of one tensor

DimMapping = tuple[FactorIndex, ...]  # the factors of one dim, major first
TensorMapping = tuple[DimMapping, ...]  # one entry a dim


class FactorKind(Enum):
    """What the op does along a factor."""

    PASS_THROUGH = "pass_through"
    REDUCTION = "reduction"
    NEED_REPLICATION = "need_replication"
    PERMUTATION = "permutation"


@dataclass(frozen=True, slots=True)
class OpShardingRule(HashedOnce):
    """The sharding rule of one op.

    The factor sets keep the order and the duplicates of the text, which verification rejects. A `blocked` factor is
    not propagated along, whatever its kind. A custom rule was given by the user and is never dropped.
    """

    factor_sizes: tuple[int, ...]
    operands: tuple[TensorMapping, ...]
    results: tuple[TensorMapping, ...]
    reduction: tuple[FactorIndex, ...] = ()
    need_replication: tuple[FactorIndex, ...] = ()
    permutation: tuple[FactorIndex, ...] = ()
    blocked: tuple[FactorIndex, ...] = ()
    is_custom: bool = False

    __hash__ = HashedOnce.__hash__

    @property
    def tensors(self) -> tuple[TensorMapping, ...]:
        """The mappings of all operands, then of all results."""
        return self.operands + self.results

    def kind(self, factor: FactorIndex) -> FactorKind:
        """The kind of `factor`; a factor that no set lists passes through."""
        if factor in self.reduction:
            return FactorKind.REDUCTION
        if factor in self.need_replication:
            return FactorKind.NEED_REPLICATION
        if factor in self.permutation:
            return FactorKind.PERMUTATION
        return FactorKind.PASS_THROUGH
