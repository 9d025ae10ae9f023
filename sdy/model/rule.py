"""Sharding rules: the correspondence between the dims of an op's operands and results, in terms of factors.

A rule such as `([i, k], [k, j])->([i, j]) {i=8, j=32, k=16} reduction={k}` names *factors*; each dim of each tensor
maps to a non-empty list of them, major first. Source: docs/spec/01, 1.4.8 and 3.7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NewType

from sdy.model.cached_hash import CachedHash

FactorIndex = NewType("FactorIndex", int)  # counts the factors of one rule

DimMapping = tuple[FactorIndex, ...]  # the factors of one dim, major first
TensorMapping = tuple[DimMapping, ...]  # one entry per dim

_LETTERS = "ijklmnopqrstuvwxyz"
_SYMBOL = re.compile(r"z_([1-9][0-9]*)|(?!z_)[i-z]")
_LARGEST_NUMBER = 2**63 - 1


class FactorKind(Enum):
    """The kind of a factor, which tells what the op computes along it."""

    PASS_THROUGH = "pass_through"
    REDUCTION = "reduction"
    NEED_REPLICATION = "need_replication"
    PERMUTATION = "permutation"


@dataclass(frozen=True, slots=True)
class OpShardingRule(CachedHash):
    """The sharding rule of one op.

    The factor sets keep the order and the duplicates of the text, which verification rejects. A `blocked` factor does
    not propagate, whatever its kind. A custom rule was written by the user and is never dropped.
    """

    factor_sizes: tuple[int, ...]
    operands: tuple[TensorMapping, ...]
    results: tuple[TensorMapping, ...]
    reduction: tuple[FactorIndex, ...] = ()
    need_replication: tuple[FactorIndex, ...] = ()
    permutation: tuple[FactorIndex, ...] = ()
    blocked: tuple[FactorIndex, ...] = ()
    is_custom: bool = False

    __hash__ = CachedHash.__hash__

    @property
    def tensors(self) -> tuple[TensorMapping, ...]:
        """The mappings of all operands, followed by those of all results."""
        return self.operands + self.results

    def kind(self, factor: FactorIndex) -> FactorKind:
        """Return the kind of `factor`. A factor in none of the sets passes through."""
        if factor in self.reduction:
            return FactorKind.REDUCTION
        if factor in self.need_replication:
            return FactorKind.NEED_REPLICATION
        if factor in self.permutation:
            return FactorKind.PERMUTATION
        return FactorKind.PASS_THROUGH


def has_factor(mapping: TensorMapping, factor: FactorIndex) -> bool:
    """Return whether some dim of the tensor maps to `factor`."""
    return any(factor in dim for dim in mapping)


def is_minor_most(dim: DimMapping, factor: FactorIndex) -> bool:
    """Return whether `factor` is the minor-most factor of the dim."""
    return dim[-1:] == (factor,)


def non_scalar_tensors(rule: OpShardingRule) -> tuple[int, ...]:
    """Return the indices in `rule.tensors` of the tensors that are not scalars."""
    return tuple(position for position, mapping in enumerate(rule.tensors) if mapping)


def is_in_all_non_scalars(rule: OpShardingRule, factor: FactorIndex) -> bool:
    """Return whether every tensor that is not a scalar has `factor`."""
    return all(has_factor(mapping, factor) for mapping in rule.tensors if mapping)


def is_batching(rule: OpShardingRule, factor: FactorIndex) -> bool:
    """Return whether `factor` passes through and every tensor that is not a scalar has it."""
    return rule.kind(factor) is FactorKind.PASS_THROUGH and is_in_all_non_scalars(rule, factor)


def has_multi_factor_dims(rule: OpShardingRule) -> bool:
    """Return whether some dim maps to two or more factors."""
    return any(len(dim) > 1 for mapping in rule.tensors for dim in mapping)


def factor_symbol(factor: int) -> str:
    """Return the symbol of a factor.

    >>> [factor_symbol(factor) for factor in (0, 1, 17, 18, 27)]
    ['i', 'j', 'z', 'z_1', 'z_10']
    """
    return _LETTERS[factor] if 0 <= factor < len(_LETTERS) else f"z_{factor - len(_LETTERS) + 1}"


def parse_factor_symbols(symbols: str) -> tuple[int, ...] | None:
    """Return the factors whose symbols are concatenated in `symbols`; None if it contains anything else.

    >>> parse_factor_symbols("ij"), parse_factor_symbols("zz_1"), parse_factor_symbols("z_2i")
    ((0, 1), (17, 18), (19, 0))
    >>> parse_factor_symbols("z_0") is None
    True
    """
    factors: list[int] = []
    position = 0
    while position < len(symbols):
        match = _SYMBOL.match(symbols, position)
        if match is None:
            return None
        number = match[1]
        if number is None:
            factors.append(_LETTERS.index(match[0]))
        elif len(number) <= len(str(_LARGEST_NUMBER)) and int(number) <= _LARGEST_NUMBER:
            factors.append(len(_LETTERS) - 1 + int(number))
        else:
            return None
        position = match.end()
    return tuple(factors)
