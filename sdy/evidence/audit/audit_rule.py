"""Audit the sharding rule of an op on its shapes: is each factor sound, and could further dims be tied?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.evidence.audit.dependence import Dependence, dependence_of, slices_along
from sdy.evidence.audit.one_op import OneOp
from sdy.evidence.audit.partial_results import combination_of
from sdy.interpreter.arrays.element_types import Array
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule, TensorMapping, factor_symbol, has_factor
from sdy.model.shape import StaticShape

LARGEST = 250_000  # pairs of an element of an operand and one of a result, for an audit to take seconds
MOST_CHANGED = 4096  # elements of an operand: each is changed in a copy

RUN_ON_SHARDS = (FactorKind.PASS_THROUGH, FactorKind.REDUCTION)
Slices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FactorAudit:
    """The audit of one factor: its symbol, size and kind, and what is wrong, if it is."""

    symbol: str
    size: int
    kind: FactorKind
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RuleAudit:
    """The audit of a rule on the shapes of one op; `missing` are sound ties of dims that the rule lacks."""

    op: str
    rule: OpShardingRule
    factors: tuple[FactorAudit, ...]
    missing: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The reason why each unsound factor is wrong, in order."""
        return tuple(
            f"factor {each.symbol} ({each.kind.value}): {each.problem}" for each in self.factors if each.problem
        )

    @property
    def is_sound(self) -> bool:
        """True if running the op on shards, and combining as the rule says, gives what the op gives."""
        return not self.problems


def is_too_large(op: OneOp) -> bool:
    """Return whether an audit of the op would take minutes, or gigabytes."""
    read, written = (sum(map(prod, shapes)) for shapes in (op.shapes, op.result_shapes))
    return read * written > LARGEST or any(prod(op.shapes[each]) > MOST_CHANGED for each in op.inputs)


def audit_rule(op: Operation, rule: OpShardingRule) -> RuleAudit:
    """Audit a rule of an op by running the op.

    A factor that passes through is sound if each slice of the results along it depends only on the same slice of the
    operands; a reduction, if the results combine from partial ones, each from one slice of the operands. The other
    kinds promise nothing that a run could disprove, nor does a factor that passes through one tensor alone: its shards
    are gathered. Raises: SdyError if the op cannot be run.
    """
    one = OneOp(op)
    dependence = dependence_of(one)
    missing = (*_missing_ties(one, rule, dependence), *_missing_reductions(one, rule, dependence))
    return RuleAudit(op.name, rule, audit_factors(one, rule, dependence), missing)


def audit_factors(op: OneOp, rule: OpShardingRule, dependence: Dependence) -> tuple[FactorAudit, ...]:
    """Audit each factor of a size above 1, as `audit_rule` does. Raises: SdyError if the op cannot be run."""
    return tuple(
        _audit_factor(op, rule, FactorIndex(factor), dependence)
        for factor, size in enumerate(rule.factor_sizes)
        if size > 1
    )


def _audit_factor(op: OneOp, rule: OpShardingRule, factor: FactorIndex, dependence: Dependence) -> FactorAudit:
    size, kind = rule.factor_sizes[factor], rule.kind(factor)
    operands = _slices_of_tensors(rule, factor, rule.operands, op.shapes)
    results = _slices_of_tensors(rule, factor, rule.results, op.result_shapes)
    problem: str | None = None
    if kind is FactorKind.PASS_THROUGH and len(operands) + len(results) > 1:
        problem = _problem_of_passing(op, dependence, operands, results)
    elif kind is FactorKind.REDUCTION:
        read = {operand: each for operand, each in operands.items() if operand in op.inputs}
        if results:
            problem = f"result {min(results)} has it too, so it is not reduced"
        elif read and combination_of(op, read, size) is None:
            problem = "the results of slices do not combine to the result"
    if problem is None and kind in RUN_ON_SHARDS and len(operands) + len(results) > 1 and is_run_unchanged(op.op):
        split, joined = (_leading_dims(mappings, factor) for mappings in (rule.operands, rule.results))
        if split.keys() == operands.keys() and joined.keys() == results.keys():
            counts = {size, next(count for count in range(2, size + 1) if size % count == 0)}
            if not all(runs_unchanged_on_slices(op, split, joined, count) for count in counts):
                problem = "the op on slices computes something else than the slices of its results"
    return FactorAudit(factor_symbol(factor), size, kind, problem)


def is_run_unchanged(op: Operation) -> bool:
    """Return whether the partitioner runs the same op on shards; it has forms of its own for ops that it knows."""
    return isinstance(op, CustomCallOp) or op.dialect_name() not in ("stablehlo", "chlo", "sdy")


def _leading_dims(mappings: Sequence[TensorMapping], factor: FactorIndex) -> dict[int, int]:
    """Return, per tensor, the dim of which this is the major-most factor."""
    return {
        tensor: dim for tensor, mapping in enumerate(mappings) for dim, each in enumerate(mapping) if each[0] == factor
    }


def _problem_of_passing(
    op: OneOp, dependence: Dependence, operands: Mapping[int, Slices], results: Mapping[int, Slices]
) -> str | None:
    for operand, here in operands.items():
        for result, shape in enumerate(op.result_shapes):
            if result not in results:
                if dependence.any(result, operand):
                    return f"result {result} does not have it, but reads all slices of operand {operand}"
                continue
            found = dependence.first_across(result, operand, results[result], here)
            if found is not None:
                written, read = (
                    _index(element, sizes) for element, sizes in zip(found, (shape, op.shapes[operand]), strict=True)
                )
                return f"element {written} of result {result} reads element {read} of operand {operand}"
    return None


def _missing_ties(op: OneOp, rule: OpShardingRule, dependence: Dependence) -> list[str]:
    """Return pairs of an operand's and a result's dim that could be split alike, but are not tied by the rule."""
    found: list[str] = []
    for result, result_shape in enumerate(op.result_shapes):
        for operand, shape in enumerate(op.shapes):
            if not dependence.any(result, operand):
                continue
            for dim, size in enumerate(shape):
                for result_dim, result_size in enumerate(result_shape):
                    tied = _tied_size(rule, rule.operands[operand][dim], rule.results[result][result_dim])
                    most = largest_tie(dependence, (operand, shape, dim), (result, result_shape, result_dim))
                    if most > 1 and tied % most:
                        here = f"dim {dim} of operand {operand}, of size {size}"
                        there = f"dim {result_dim} of result {result}, of size {result_size}"
                        found.append(f"{here}, and {there}, in {most} slices")
    return found


def largest_tie(
    dependence: Dependence, operand: tuple[int, StaticShape, int], result: tuple[int, StaticShape, int]
) -> int:
    """Return into how many slices a dim of an operand and one of a result can be split so that slices depend alike.

    Operand and result are given as index, shape and dim. 1 if they cannot be split so.
    """
    common = gcd(operand[1][operand[2]], result[1][result[2]])
    for count in range(common, 1, -1):
        if common % count:
            continue
        here, there = (slices_along(shape, dim, count) for _, shape, dim in (operand, result))
        if dependence.first_across(result[0], operand[0], there, here) is None:
            return count
    return 1


def _missing_reductions(op: OneOp, rule: OpShardingRule, dependence: Dependence) -> list[str]:
    """Return dims of operands that are gathered, though the results would combine from those of slices.

    Only results smaller than the operand count: combining larger ones sends more than gathering the operand.
    """
    found: list[str] = []
    result_size = sum(map(prod, op.result_shapes))
    for operand in op.inputs:
        shape = op.shapes[operand]
        is_read = any(dependence.any(result, operand) for result in range(len(op.result_shapes)))
        if not is_read or prod(shape) <= result_size:
            continue
        for dim, size in enumerate(shape):
            if size == 1 or not _is_gathered(rule, rule.operands[operand][dim][0]):
                continue
            combination = combination_of(op, {operand: slices_along(shape, dim, size)}, size)
            if combination:
                found.append(f"dim {dim} of operand {operand}, of size {size}, reduced by {combination}")
    return found


def _is_gathered(rule: OpShardingRule, factor: FactorIndex) -> bool:
    """Return whether shards along a factor are gathered: it needs replication, or passes through one tensor alone."""
    kind = rule.kind(factor)
    is_alone = sum(has_factor(mapping, factor) for mapping in rule.tensors) == 1
    return kind is FactorKind.NEED_REPLICATION or (kind is FactorKind.PASS_THROUGH and is_alone)


def _tied_size(rule: OpShardingRule, left: Sequence[FactorIndex], right: Sequence[FactorIndex]) -> int:
    """Return the size of the factors that two dims share, from the major side on, and that pass through."""
    shared: list[int] = []
    for one, other in zip(left, right, strict=False):
        if one != other or rule.kind(one) is not FactorKind.PASS_THROUGH:
            break
        shared.append(rule.factor_sizes[one])
    return prod(shared)


def _slices_of_tensors(
    rule: OpShardingRule, factor: FactorIndex, mappings: Sequence[TensorMapping], shapes: Sequence[StaticShape]
) -> dict[int, Slices]:
    """Return, per tensor with the factor, the index along the factor of each element in row-major order."""
    found: dict[int, Slices] = {}
    for tensor, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
        for dim, factors in enumerate(mapping):
            if factor in factors:
                sizes = [rule.factor_sizes[each] for each in factors]
                minor = prod(sizes[factors.index(factor) + 1 :])
                found[tensor] = slices_along(shape, dim, prod(sizes)) // minor % rule.factor_sizes[factor]
    return found


def _index(element: int, shape: StaticShape) -> list[int]:
    return [int(each) for each in np.unravel_index(element, shape)] if shape else []


ROUNDS = 2  # of any numbers, and of small ones
DimOfTensor = Mapping[int, int]  # per operand or result that is split, the dim along which it is


def runs_unchanged_on_slices(whole: OneOp, operands: DimOfTensor, results: DimOfTensor, count: int) -> bool:
    """Return whether the same op on each of `count` slices gives the slices of the results.

    Results that are not split must be the sum of what the slices give. An op that reads the position of an element, or
    whose attributes contain sizes, fails, even if another op on slices would do.
    """
    shapes = [_slice_shape(shape, operands.get(index), count) for index, shape in enumerate(whole.shapes)]
    result_shapes = [_slice_shape(shape, results.get(index), count) for index, shape in enumerate(whole.result_shapes)]
    random = np.random.default_rng(0)
    try:
        part = OneOp(whole.op, shapes, result_shapes)
        for round_ in range(ROUNDS):
            inputs = whole.drawn(random, round_)
            expected = [each[0] for each in whole(2, [array[None] for array in inputs])]
            slices = [
                _slices(array, operands[operand], count) if operand in operands else array[None]
                for operand, array in zip(whole.inputs, inputs, strict=True)
            ]
            for index, found in enumerate(part(count, slices)):
                joined = (
                    np.concatenate(list(found), axis=results[index])
                    if index in results
                    else whole.fold(AddOp, found.dtype).reduced(found, (0,))
                )
                if not whole.are_equal(joined, expected[index]):
                    return False
    except (SdyError, ValueError):  # the kernel, or a result of its own, does not fit the shapes of slices
        return False
    return True


def _slice_shape(shape: StaticShape, dim: int | None, count: int) -> StaticShape:
    return tuple(size // count if position == dim else size for position, size in enumerate(shape))


def _slices(array: Array, dim: int, count: int) -> Array:
    """Return the slices of an array along a dim, in a new first dim."""
    return np.stack(np.split(array, count, axis=dim))
