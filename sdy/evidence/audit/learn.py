"""Propose a sharding rule for an op by running it: the dims that are split alike, and those that are reduced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import Operation

from sdy.evidence.audit.audit_rule import audit_factors, largest_tie
from sdy.evidence.audit.dependence import Dependence, dependence_of, slices_along
from sdy.evidence.audit.one_op import OneOp
from sdy.evidence.audit.partial_results import combination_of
from sdy.model.rule import FactorKind, OpShardingRule, factor_symbol
from sdy.model.rule_builder import RuleBuilder

DimOfTensor = dict[int, int]  # at most one dim per operand, or per result


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a proposed rule; its dims have the same size."""

    size: int
    kind: FactorKind
    operands: DimOfTensor
    results: DimOfTensor


def learned_rule(op: Operation) -> OpShardingRule:
    """Return the rule that shows when the op is run: dims that pass through, dims that are added; others are gathered.

    Only dims of equal size are tied. The rule is sound as far as `audit_factors` can tell.
    Raises: SdyError if the op cannot be run.
    """
    one = OneOp(op)
    dependence = dependence_of(one)
    factors = list(_passing(one, dependence))
    factors += _reduced(one, factors)
    problems = {each.symbol for each in audit_factors(one, _rule(one, factors), dependence) if each.problem}
    sound = [each for number, each in enumerate(factors) if factor_symbol(number) not in problems]
    return _rule(one, [*sound, *_gathered(one, sound)])


def _passing(op: OneOp, dependence: Dependence) -> Iterator[Factor]:
    """Yield a factor per dim of a result that is split as dims of operands are on which it depends."""
    used: set[tuple[int, int]] = set()
    for result, shape in enumerate(op.result_shapes):
        for dim, size in enumerate(shape):
            operands: DimOfTensor = {}
            for operand, operand_shape in enumerate(op.shapes):
                for operand_dim, operand_size in enumerate(operand_shape):
                    is_free = operand not in operands and (operand, operand_dim) not in used
                    if is_free and operand_size == size > 1 and dependence.any(result, operand):
                        tie = largest_tie(dependence, (operand, operand_shape, operand_dim), (result, shape, dim))
                        if tie == size:
                            operands[operand] = operand_dim
            if operands:
                used |= set(operands.items())
                others = _tied_results(op, dependence, operands, size)
                yield Factor(size, FactorKind.PASS_THROUGH, operands, others | {result: dim})


def _tied_results(op: OneOp, dependence: Dependence, operands: DimOfTensor, size: int) -> DimOfTensor:
    """Return the dims of results that are split as these dims of operands are."""
    found: DimOfTensor = {}
    for result, shape in enumerate(op.result_shapes):
        read = [(operand, dim) for operand, dim in operands.items() if dependence.any(result, operand)]
        for dim, result_size in enumerate(shape):
            if read and size == result_size and result not in found:
                ties = (
                    largest_tie(dependence, (operand, op.shapes[operand], operand_dim), (result, shape, dim))
                    for operand, operand_dim in read
                )
                if all(tie == size for tie in ties):
                    found[result] = dim
    return found


def _reduced(op: OneOp, factors: Sequence[Factor]) -> Iterator[Factor]:
    """Yield a factor per group of dims of operands along which the results are sums of what slices give.

    Of the dims that are left, as many operands as possible take part in a factor. A single operand must be larger than
    the results: adding larger ones sends more than gathering the operand.
    """
    results = sum(map(prod, op.result_shapes))
    free = _free_dims(op, factors)
    sizes = sorted({op.shapes[operand][dim] for operand in op.inputs for dim in free[operand]})
    for size in sizes:
        dims = [
            [None, *(dim for dim in free[operand] if shape[dim] == size)] for operand, shape in enumerate(op.shapes)
        ]
        groups = sorted(product(*dims), key=lambda group: group.count(None))
        for group in groups:
            chosen: DimOfTensor = {operand: dim for operand, dim in enumerate(group) if dim is not None}
            if not chosen or any(dim not in free[operand] for operand, dim in chosen.items()):
                continue
            slices = {operand: slices_along(op.shapes[operand], dim, size) for operand, dim in chosen.items()}
            is_smaller = results < max(prod(op.shapes[operand]) for operand in chosen)
            if (len(chosen) > 1 or is_smaller) and combination_of(op, slices, size):
                for operand, dim in chosen.items():
                    free[operand].remove(dim)
                yield Factor(size, FactorKind.REDUCTION, chosen, {})


def _gathered(op: OneOp, factors: Sequence[Factor]) -> Iterator[Factor]:
    """Yield a factor that needs replication for each dim of an operand or result that has none."""
    for operand, dims in _free_dims(op, factors).items():
        for dim in dims:
            yield Factor(op.shapes[operand][dim], FactorKind.NEED_REPLICATION, {operand: dim}, {})
    for result, shape in enumerate(op.result_shapes):
        for dim, size in enumerate(shape):
            if size > 1 and all(factor.results.get(result) != dim for factor in factors):
                yield Factor(size, FactorKind.NEED_REPLICATION, {}, {result: dim})


def _free_dims(op: OneOp, factors: Sequence[Factor]) -> dict[int, list[int]]:
    """Return, per operand, the dims of a size above 1 that no factor has."""
    return {
        operand: [
            dim
            for dim, size in enumerate(shape)
            if size > 1 and all(factor.operands.get(operand) != dim for factor in factors)
        ]
        for operand, shape in enumerate(op.shapes)
    }


def _rule(op: OneOp, factors: Sequence[Factor]) -> OpShardingRule:
    builder = RuleBuilder(map(len, op.shapes), map(len, op.result_shapes))
    for factor in factors:
        operands = [factor.operands.get(index) for index in range(len(op.shapes))]
        results = [factor.results.get(index) for index in range(len(op.result_shapes))]
        builder.factor(factor.size, operands, results, factor.kind)
    return builder.build(is_custom=True)
