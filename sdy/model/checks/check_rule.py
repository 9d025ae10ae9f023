"""Whether a sharding rule fits the operands and results of its op.

Source: docs/spec/01, 4.6. R1 to R13 number its rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping, factor_symbol, has_factor
from sdy.model.shape import Shapeless, ValueShape


@lru_cache(maxsize=16384)
def check_rule(
    rule: OpShardingRule, operands: tuple[ValueShape, ...], results: tuple[ValueShape, ...]
) -> Diagnostic | None:
    """The first of R1 to R13 that the rule of an op with such operands and results breaks, if any."""
    problem = _check_side(rule, "operand", rule.operands, operands) or _check_side(
        rule, "result", rule.results, results
    )
    return problem or _check_all_used(rule) or _check_sets(rule)


def _check_side(
    rule: OpShardingRule, side: str, mappings: Sequence[TensorMapping], shapes: Sequence[ValueShape]
) -> Diagnostic | None:
    """R1 to R8 for the operands, or for the results."""
    if len(mappings) != len(shapes):
        return Diagnostic("SDY-R001", f"the rule maps {len(mappings)} {side}s, the op has {len(shapes)}")
    if not mappings:
        return Diagnostic("SDY-R002", f"the rule is of an op without {side}s")
    for index, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
        place = side if len(mappings) == 1 else f"{side} {index}"
        if isinstance(shape, Shapeless) or None in shape:
            return Diagnostic("SDY-R003", f"{place} is not a tensor of static shape")
        if len(mapping) != len(shape):
            return Diagnostic("SDY-R004", f"the rule maps {len(mapping)} dims of {place}, which has {len(shape)}")
        problem = _check_mapping(rule, mapping, place)
        if problem is not None:
            return problem
    return None


def _check_mapping(rule: OpShardingRule, mapping: TensorMapping, place: str) -> Diagnostic | None:
    """R5 to R8."""
    seen: set[FactorIndex] = set()
    for index, factors in enumerate(mapping):
        where = f"dim {index} of {place}"
        if not factors:
            return Diagnostic("SDY-R005", f"{where} maps to no factor")
        for factor in factors:
            if not 0 <= factor < len(rule.factor_sizes):
                return Diagnostic(
                    "SDY-R006", f"{where} maps to factor {factor_symbol(factor)}, of {len(rule.factor_sizes)} factors"
                )
            if factor in seen:
                return Diagnostic(
                    "SDY-R007", f"{where} maps to factor {factor_symbol(factor)}, which {place} has already"
                )
            if rule.factor_sizes[factor] == 1 and len(factors) > 1:
                return Diagnostic(
                    "SDY-R008", f"{where} maps to several factors, and factor {factor_symbol(factor)} has size 1"
                )
            seen.add(factor)
    return None


def _check_all_used(rule: OpShardingRule) -> Diagnostic | None:
    """R9."""
    for index, size in enumerate(rule.factor_sizes):
        if not any(has_factor(mapping, FactorIndex(index)) for mapping in rule.tensors):
            return Diagnostic("SDY-R009", f"no tensor has factor {factor_symbol(index)}, of size {size}")
    return None


def _check_sets(rule: OpShardingRule) -> Diagnostic | None:
    """R10 to R13."""
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
    repeated = next((factor for place, factor in enumerate(listed) if factor in listed[:place]), None)
    if repeated is not None:
        return Diagnostic("SDY-R011", f"factor {factor_symbol(repeated)} is of two kinds")
    problem = _check_set(rule, "blocked_propagation", rule.blocked)
    if problem is not None:
        return problem
    for factor in rule.reduction:
        if any(has_factor(mapping, factor) for mapping in rule.results):
            return Diagnostic("SDY-R013", f"a result has the reduction factor {factor_symbol(factor)}")
    return None


def _check_set(rule: OpShardingRule, name: str, factors: Sequence[FactorIndex]) -> Diagnostic | None:
    """R10: ascending, without duplicates, in range."""
    if any(left > right for left, right in pairwise(factors)):
        return Diagnostic("SDY-R010", f"the {name} factors are not in ascending order")
    if len(set(factors)) < len(factors):
        return Diagnostic("SDY-R010", f"a {name} factor is there twice")
    if factors and not (factors[0] >= 0 and factors[-1] < len(rule.factor_sizes)):
        return Diagnostic("SDY-R010", f"a {name} factor is none of the {len(rule.factor_sizes)} factors")
    return None
