"""A builder that assembles a sharding rule factor by factor. Source: docs/spec/03, 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule, TensorMapping

DimPerTensor = Sequence[int | None]  # per tensor, the dim that has a factor; None if no dim has it


class RuleBuilder:
    """Builder of sharding rules. Each factor is appended at the minor end of the dims that it belongs to.

    >>> rule = (
    ...     RuleBuilder(operand_ranks=(2, 2), result_ranks=(2,))
    ...     .factor(8, operands=(0, None), results=(0,))
    ...     .factor(32, operands=(None, 1), results=(1,))
    ...     .factor(16, operands=(1, 0), results=(None,), kind=FactorKind.REDUCTION)
    ...     .build()
    ... )
    >>> rule.operands, rule.results, rule.reduction
    ((((0,), (2,)), ((2,), (1,))), (((0,), (1,)),), (2,))
    """

    def __init__(self, operand_ranks: Iterable[int], result_ranks: Iterable[int]) -> None:
        self._operands: list[list[list[FactorIndex]]] = [[[] for _ in range(rank)] for rank in operand_ranks]
        self._results: list[list[list[FactorIndex]]] = [[[] for _ in range(rank)] for rank in result_ranks]
        self._sizes: list[int] = []
        self._kinds: list[FactorKind] = []
        self._blocked: list[FactorIndex] = []

    def factor(
        self,
        size: int,
        operands: DimPerTensor,
        results: DimPerTensor,
        kind: FactorKind = FactorKind.PASS_THROUGH,
        *,
        is_blocked: bool = False,
    ) -> Self:
        """Add a factor to the listed dim of each tensor; None leaves the tensor without the factor.

        A factor of size 1 is not added to dims that have a factor already, but it does take an index.
        """
        factor = self._new(size, kind, is_blocked)
        for tensors, dim_per_tensor in ((self._operands, operands), (self._results, results)):
            for dims, dim in zip(tensors, dim_per_tensor, strict=True):
                if dim is not None and (size != 1 or not dims[dim]):
                    dims[dim].append(factor)
        return self

    def spread(
        self,
        dim: int,
        size: int,
        kind: FactorKind = FactorKind.PASS_THROUGH,
        *,
        is_blocked: bool = False,
        in_operands: bool = True,
        in_results: bool = True,
    ) -> Self:
        """Add a factor to dim `dim` of every operand and of every result that is not a scalar."""
        factor = self._new(size, kind, is_blocked)
        for dims in (*(self._operands if in_operands else ()), *(self._results if in_results else ())):
            if dims:
                dims[dim].append(factor)
        return self

    def pointwise(self, shape: Iterable[int]) -> Self:
        """Add a factor per dim of `shape`, to that dim of every tensor that is not a scalar."""
        for dim, size in enumerate(shape):
            self.spread(dim, size)
        return self

    def pointwise_where_equal(
        self, operand_shape: Iterable[int], result_shape: Iterable[int], kind: FactorKind, *, is_blocked: bool = False
    ) -> Self:
        """Add a factor per dim, of the operand's size. It has `kind` if the result has another size."""
        for dim, (size, result_size) in enumerate(zip(operand_shape, result_shape, strict=True)):
            if size == result_size:
                self.spread(dim, size)
            else:
                self.spread(dim, size, kind, is_blocked=is_blocked)
        return self

    def build(self, *, is_custom: bool = False) -> OpShardingRule:
        """Return the rule. Each dim without a factor gets a new factor of size 1."""
        for dims in (*self._operands, *self._results):
            for dim in dims:
                if not dim:
                    dim.append(self._new(1, FactorKind.PASS_THROUGH, is_blocked=False))
        return OpShardingRule(
            tuple(self._sizes),
            _frozen(self._operands),
            _frozen(self._results),
            self._of_kind(FactorKind.REDUCTION),
            self._of_kind(FactorKind.NEED_REPLICATION),
            self._of_kind(FactorKind.PERMUTATION),
            tuple(self._blocked),
            is_custom,
        )

    def _new(self, size: int, kind: FactorKind, is_blocked: bool) -> FactorIndex:
        factor = FactorIndex(len(self._sizes))
        self._sizes.append(size)
        self._kinds.append(kind)
        if is_blocked:
            self._blocked.append(factor)
        return factor

    def _of_kind(self, kind: FactorKind) -> tuple[FactorIndex, ...]:
        return tuple(FactorIndex(factor) for factor, other in enumerate(self._kinds) if other is kind)


@lru_cache(maxsize=4096)  # asked for each edge and result of a program, with few distinct shapes
def identity_rule(shape: tuple[int, ...], operands: int = 1, results: int = 1) -> OpShardingRule:
    """Return the rule of an element-wise op on tensors of `shape`."""
    return RuleBuilder((len(shape),) * operands, (len(shape),) * results).pointwise(shape).build()


def _frozen(tensors: list[list[list[FactorIndex]]]) -> tuple[TensorMapping, ...]:
    return tuple(tuple(tuple(dim) for dim in dims) for dims in tensors)
