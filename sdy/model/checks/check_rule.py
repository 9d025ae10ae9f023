"""Checks that a sharding rule fits the operands and results of its op.

Source: docs/spec/01, 4.6. R1 to R13 number its rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.wording import counted
from sdy.model.checks.first_problem import Problems, first_problem
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping, factor_symbol, has_factor
from sdy.model.shape import Shapeless, ValueShape


@lru_cache(maxsize=16384)
@first_problem
def check_rule(
    rule: OpShardingRule,
    operands: tuple[ValueShape, ...],
    results: tuple[ValueShape, ...],
    *,
    is_attribute: bool = True,
) -> Problems:
    """Return the first of R1 to R13 that the rule violates for an op with such operands and results; None if it is
    valid.

    Only the op of a rule in an attribute must have operands and results (R2).
    """
    sides = ("operand", rule.operands, operands), ("result", rule.results, results)
    for side, mappings, shapes in sides:
        if is_attribute and not mappings and not shapes:
            yield Diagnostic("SDY-R002", f"expected an op with at least one {side}")
        yield from _check_side(rule, side, mappings, shapes)
    for index, size in enumerate(rule.factor_sizes):
        if not any(has_factor(mapping, FactorIndex(index)) for mapping in rule.tensors):
            yield Diagnostic("SDY-R009", f"expected some tensor to have factor {factor_symbol(index)}, of size {size}")
    yield from _check_sets(rule)


def _check_side(
    rule: OpShardingRule, side: str, mappings: Sequence[TensorMapping], shapes: Sequence[ValueShape]
) -> Problems:
    """Check R1 and R3 to R8 for the operands, or for the results."""
    if len(mappings) != len(shapes):
        yield Diagnostic("SDY-R001", f"expected the rule to map {len(shapes)} {side}s, got {len(mappings)}")
    for index, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
        tensor = side if len(mappings) == 1 else f"{side} {index}"
        if isinstance(shape, Shapeless) or None in shape:
            yield Diagnostic("SDY-R003", f"{tensor} must be a tensor of static shape")
            return
        if len(mapping) != len(shape):
            yield Diagnostic("SDY-R004", f"expected the rule to map {len(shape)} dims of {tensor}, got {len(mapping)}")
        yield from _check_mapping(rule, mapping, tensor)


def _check_mapping(rule: OpShardingRule, mapping: TensorMapping, tensor: str) -> Problems:
    """Check R5 to R8: each dim maps to factors of the rule, and each tensor has a factor at most once."""
    seen: set[FactorIndex] = set()
    for index, factors in enumerate(mapping):
        dim = f"dim {index} of {tensor}"
        if not factors:
            yield Diagnostic("SDY-R005", f"{dim} must map to at least one factor")
        for factor in factors:
            if not 0 <= factor < len(rule.factor_sizes):
                count = counted(len(rule.factor_sizes), "factor")
                yield Diagnostic("SDY-R006", f"{dim} maps to factor {factor_symbol(factor)}, but the rule has {count}")
            if factor in seen:
                yield Diagnostic(
                    "SDY-R007", f"{dim} maps to factor {factor_symbol(factor)}, which {tensor} already has"
                )
            if rule.factor_sizes[factor] == 1 and len(factors) > 1:
                yield Diagnostic(
                    "SDY-R008", f"{dim} maps to several factors, but factor {factor_symbol(factor)} has size 1"
                )
            seen.add(factor)


def _check_sets(rule: OpShardingRule) -> Problems:
    """Check R10 to R13: the factor sets are valid and disjoint, and no result has a reduction factor."""
    kinds = {
        "reduction": rule.reduction,
        "need_replication": rule.need_replication,
        "permutation": rule.permutation,
    }
    for name, factors in kinds.items():
        yield from _check_set(rule, name, factors)
    listed = [factor for factors in kinds.values() for factor in factors]
    for index, factor in enumerate(listed):
        if factor in listed[:index]:
            yield Diagnostic("SDY-R011", f"factor {factor_symbol(factor)} has two kinds")
    yield from _check_set(rule, "blocked_propagation", rule.blocked)
    for factor in rule.reduction:
        if any(has_factor(mapping, factor) for mapping in rule.results):
            yield Diagnostic("SDY-R013", f"reduction factor {factor_symbol(factor)} must not be in a result")


def _check_set(rule: OpShardingRule, name: str, factors: Sequence[FactorIndex]) -> Problems:
    """Check R10: the factors are ascending, distinct and in range."""
    for left, right in pairwise(factors):
        if left > right:
            order = f"{factor_symbol(right)} after {factor_symbol(left)}"
            yield Diagnostic("SDY-R010", f"expected {name} factors in ascending order, got {order}")
        if left == right:
            yield Diagnostic("SDY-R010", f"{name} factor {factor_symbol(left)} is listed twice")
    count = counted(len(rule.factor_sizes), "factor")
    for factor in factors:
        if not 0 <= factor < len(rule.factor_sizes):
            yield Diagnostic("SDY-R010", f"{name} factor {factor_symbol(factor)} is out of range: the rule has {count}")
