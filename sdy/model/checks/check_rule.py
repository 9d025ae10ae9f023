"""Checks that a sharding rule fits the operands and results of its op.

Source: docs/spec/01, 4.6. R1 to R13 number its rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.wording import counted
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping, factor_symbol, has_factor
from sdy.model.shape import Shapeless, ValueShape


@lru_cache(maxsize=16384)
def check_rule(
    rule: OpShardingRule,
    operands: tuple[ValueShape, ...],
    results: tuple[ValueShape, ...],
    *,
    is_attribute: bool = True,
) -> Diagnostic | None:
    """Return the first of R1 to R13 that the rule violates for an op with such operands and results; None if it is
    valid.

    Only the op of a rule in an attribute must have operands and results (R2).
    """
    sides = ("operand", rule.operands, operands), ("result", rule.results, results)
    for side, mappings, shapes in sides:
        if is_attribute and not mappings and not shapes:
            return Diagnostic("SDY-R002", f"expected an op with at least one {side}")
        problem = _check_side(rule, side, mappings, shapes)
        if problem is not None:
            return problem
    return _check_all_used(rule) or _check_sets(rule)


def _check_side(
    rule: OpShardingRule, side: str, mappings: Sequence[TensorMapping], shapes: Sequence[ValueShape]
) -> Diagnostic | None:
    """Check R1 and R3 to R8 for the operands, or for the results."""
    if len(mappings) != len(shapes):
        return Diagnostic("SDY-R001", f"expected the rule to map {len(shapes)} {side}s, got {len(mappings)}")
    for index, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
        tensor = side if len(mappings) == 1 else f"{side} {index}"
        if isinstance(shape, Shapeless) or None in shape:
            return Diagnostic("SDY-R003", f"{tensor} must be a tensor of static shape")
        if len(mapping) != len(shape):
            return Diagnostic("SDY-R004", f"expected the rule to map {len(shape)} dims of {tensor}, got {len(mapping)}")
        problem = _check_mapping(rule, mapping, tensor)
        if problem is not None:
            return problem
    return None


def _check_mapping(rule: OpShardingRule, mapping: TensorMapping, tensor: str) -> Diagnostic | None:
    """Check R5 to R8: each dim maps to factors of the rule, and each tensor has a factor at most once."""
    seen: set[FactorIndex] = set()
    for index, factors in enumerate(mapping):
        dim = f"dim {index} of {tensor}"
        if not factors:
            return Diagnostic("SDY-R005", f"{dim} must map to at least one factor")
        for factor in factors:
            if not 0 <= factor < len(rule.factor_sizes):
                count = counted(len(rule.factor_sizes), "factor")
                return Diagnostic("SDY-R006", f"{dim} maps to factor {factor_symbol(factor)}, but the rule has {count}")
            if factor in seen:
                return Diagnostic(
                    "SDY-R007", f"{dim} maps to factor {factor_symbol(factor)}, which {tensor} already has"
                )
            if rule.factor_sizes[factor] == 1 and len(factors) > 1:
                return Diagnostic(
                    "SDY-R008", f"{dim} maps to several factors, but factor {factor_symbol(factor)} has size 1"
                )
            seen.add(factor)
    return None


def _check_all_used(rule: OpShardingRule) -> Diagnostic | None:
    """Check R9: some tensor has each factor."""
    for index, size in enumerate(rule.factor_sizes):
        if not any(has_factor(mapping, FactorIndex(index)) for mapping in rule.tensors):
            return Diagnostic("SDY-R009", f"expected some tensor to have factor {factor_symbol(index)}, of size {size}")
    return None


def _check_sets(rule: OpShardingRule) -> Diagnostic | None:
    """Check R10 to R13: the factor sets are valid and disjoint, and no result has a reduction factor."""
    kinds = {
        "reduction": rule.reduction,
        "need_replication": rule.need_replication,
        "permutation": rule.permutation,
    }
    for name, factors in kinds.items():
        problem = _check_set(rule, name, factors)
        if problem is not None:
            return problem
    listed = [factor for factors in kinds.values() for factor in factors]
    repeated = next((factor for index, factor in enumerate(listed) if factor in listed[:index]), None)
    if repeated is not None:
        return Diagnostic("SDY-R011", f"factor {factor_symbol(repeated)} has two kinds")
    problem = _check_set(rule, "blocked_propagation", rule.blocked)
    if problem is not None:
        return problem
    for factor in rule.reduction:
        if any(has_factor(mapping, factor) for mapping in rule.results):
            return Diagnostic("SDY-R013", f"reduction factor {factor_symbol(factor)} must not be in a result")
    return None


def _check_set(rule: OpShardingRule, name: str, factors: Sequence[FactorIndex]) -> Diagnostic | None:
    """Check R10: the factors are ascending, distinct and in range."""
    for left, right in pairwise(factors):
        if left > right:
            order = f"{factor_symbol(right)} after {factor_symbol(left)}"
            return Diagnostic("SDY-R010", f"expected {name} factors in ascending order, got {order}")
        if left == right:
            return Diagnostic("SDY-R010", f"{name} factor {factor_symbol(left)} is listed twice")
    unknown = next((factor for factor in factors if not 0 <= factor < len(rule.factor_sizes)), None)
    if unknown is not None:
        count = counted(len(rule.factor_sizes), "factor")
        return Diagnostic("SDY-R010", f"{name} factor {factor_symbol(unknown)} is out of range: the rule has {count}")
    return None
