"""What a sharding rule says of a factor. Source: docs/spec/01, 3.7."""

from __future__ import annotations

from sdy.model.rule import DimMapping, FactorIndex, FactorKind, OpShardingRule, TensorMapping


def has_factor(mapping: TensorMapping, factor: FactorIndex) -> bool:
    """Whether some dim of the tensor maps to `factor`."""
    return any(factor in dim for dim in mapping)


def is_minor_most(dim: DimMapping, factor: FactorIndex) -> bool:
    """Whether `factor` varies fastest within the dim."""
    return dim[-1:] == (factor,)


def non_scalar_tensors(rule: OpShardingRule) -> tuple[int, ...]:
    """Places in `rule.tensors` of the tensors that have a dim."""
    return tuple(place for place, mapping in enumerate(rule.tensors) if mapping)


def is_in_all_non_scalars(rule: OpShardingRule, factor: FactorIndex) -> bool:
    """Whether every tensor that has a dim has `factor`."""
    return all(has_factor(mapping, factor) for mapping in rule.tensors if mapping)


def is_batching(rule: OpShardingRule, factor: FactorIndex) -> bool:
    """Whether `factor` passes through and every tensor that has a dim has it."""
    return rule.kind(factor) is FactorKind.PASS_THROUGH and is_in_all_non_scalars(rule, factor)


def has_multi_factor_dims(rule: OpShardingRule) -> bool:
    """Whether some dim maps to two factors or more."""
    return any(len(dim) > 1 for mapping in rule.tensors for dim in mapping)
