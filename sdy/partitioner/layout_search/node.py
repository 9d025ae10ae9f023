"""Ops in the search: the digits of the factors of an op determine the layouts of its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from sdy.model.mesh_digits import DigitTuple, NumberedDigits
from sdy.model.rule import OpShardingRule, TensorMapping
from sdy.partitioner.layout_search.layout import Layout

PartialOperands = tuple[bool, ...]  # for each operand, whether it is partial
DigitsPerFactor = Mapping[int, DigitTuple]
Counts = tuple[tuple[int, frozenset[int]], ...]  # by factor


class Assignment(NamedTuple):
    """The digits that each factor of an op is sharded along, and those along which `partial_operands` are partial."""

    factors: tuple[DigitTuple, ...]
    partial: DigitTuple = ()
    partial_operands: PartialOperands = ()


class OpLayout(NamedTuple):
    """An assignment for an op, with the layouts of operands and results that follow from it."""

    assignment: Assignment
    layouts: tuple[Layout, ...]  # of the operands, then the results


class LayoutNodeKind:
    """The properties that ops with the same sharding rule share; shared by these ops, since it caches op layouts.

    `partial_sets` are the sets of operands that may be partial together if the op is linear in them. `counts` are the
    allowed shard counts of factors along which the op moves elements between shards.
    """

    def __init__(
        self,
        rule: OpShardingRule,
        partial_sets: tuple[PartialOperands, ...],
        digits: NumberedDigits,
        counts: Counts = (),
    ) -> None:
        self.rule = rule
        self.partial_sets = partial_sets
        self._counts = dict(counts)
        self._digits = digits
        self._known: dict[Assignment, OpLayout | None] = {}
        self._op_layouts: dict[tuple[DigitTuple, ...], tuple[OpLayout, ...]] = {}
        self._op_layouts_with: dict[tuple[int, tuple[DigitTuple, ...], Assignment], tuple[OpLayout, ...]] = {}
        self.replicated_factors = frozenset({*rule.need_replication, *rule.permutation})
        in_each = ({factor for dim in tensor for factor in dim} for tensor in rule.tensors)
        self.batching_factors = set(range(len(rule.factor_sizes))).intersection(*in_each)
        self.has_compound_dims = any(len(dim) > 1 for tensor in rule.tensors for dim in tensor)

    def op_layout(self, assignment: Assignment) -> OpLayout | None:
        """Return the op layout with an assignment; None if the op cannot run so."""
        try:
            return self._known[assignment]
        except KeyError:
            layouts = self._layouts(assignment) if self._is_valid(assignment) else None
            found = None if layouts is None else OpLayout(assignment, layouts)
            self._known[assignment] = found
            return found

    def _layouts(self, assignment: Assignment) -> tuple[Layout, ...] | None:
        layouts: list[Layout] = []
        reduced = (digit for factor in self.rule.reduction for digit in assignment.factors[factor])
        result_partial = tuple(sorted((*reduced, *assignment.partial)))
        for index, mapping in enumerate(self.rule.tensors):
            dims = self._dims(mapping, assignment.factors)
            if dims is None:
                return None
            if index >= len(self.rule.operands):
                layouts.append(Layout(dims, result_partial))
            else:
                is_partial = bool(assignment.partial) and assignment.partial_operands[index]
                layouts.append(Layout(dims, assignment.partial if is_partial else ()))
        return tuple(layouts)

    def _dims(self, mapping: TensorMapping, factors: tuple[DigitTuple, ...]) -> tuple[DigitTuple, ...] | None:
        dims: list[DigitTuple] = []
        for dim in mapping:
            digits: DigitTuple = ()
            is_full = True
            for factor in dim:
                if factors[factor] and not is_full:
                    return None  # a shard would hold elements that are not contiguous
                digits += factors[factor]
                is_full = is_full and self._digits.count(factors[factor]) == self.rule.factor_sizes[factor]
            dims.append(digits)
        return tuple(dims)

    def _is_valid(self, assignment: Assignment) -> bool:
        """Return whether no digit is used twice, all shards are equal, and only shardable factors are sharded."""
        every = [*assignment.partial, *(digit for digits in assignment.factors for digit in digits)]
        return len(set(every)) == len(every) and all(
            not digits or self._can_shard(factor, digits) for factor, digits in enumerate(assignment.factors)
        )

    def _can_shard(self, factor: int, digits: DigitTuple) -> bool:
        counts = self._counts.get(factor)
        return (
            factor not in self.replicated_factors
            and self._digits.divides(self.rule.factor_sizes[factor], digits)
            and (counts is None or self._digits.count(digits) in counts)
        )

    def project(self, index: int, layout: Layout) -> dict[int, DigitTuple] | None:
        """Return the factor digits that give the tensor with this index a layout; None if there are none."""
        found: dict[int, DigitTuple] = {}
        for dim, digits in zip(self.rule.tensors[index], layout.dims, strict=True):
            left = list(digits)
            for factor in dim[:-1]:
                room = self.rule.factor_sizes[factor]
                own: list[int] = []
                while left and room % self._digits.sizes[left[0]] == 0:
                    room //= self._digits.sizes[left[0]]
                    own.append(left.pop(0))
                found[factor] = tuple(own)
                if left and room > 1:
                    return None
            if dim:
                found[dim[-1]] = tuple(left)
        return found

    def op_layouts_with(self, index: int, dims: tuple[DigitTuple, ...], assignment: Assignment) -> tuple[OpLayout, ...]:
        """Return the op layouts in which the tensor with this index is sharded like `dims`.

        The first one keeps the digits of `assignment` where `dims` leaves room for them; the second one drops them.
        """
        key = index, dims, assignment
        found = self._op_layouts_with.get(key)
        if found is None:
            found = self._op_layouts_with[key] = tuple(self._computed_op_layouts_with(*key))
        return found

    def _computed_op_layouts_with(
        self, index: int, dims: tuple[DigitTuple, ...], assignment: Assignment
    ) -> Iterator[OpLayout]:
        projected = self.project(index, Layout(dims))
        if projected is None:
            return
        choices = (merged(projected, dict(enumerate(assignment.factors))), projected)
        for tried in dict.fromkeys(assignment._replace(factors=self.assignment(each).factors) for each in choices):
            op_layout = self.op_layout(tried)
            if op_layout is not None:
                yield op_layout

    def assignment(self, factor_digits: DigitsPerFactor) -> Assignment:
        """Return the assignment that shards only these factors."""
        return Assignment(tuple(factor_digits.get(factor, ()) for factor in range(len(self.rule.factor_sizes))))

    def op_layouts(self, groups: tuple[DigitTuple, ...]) -> tuple[OpLayout, ...]:
        """Return the op layouts that assign each group of digits to one factor or to none, in every combination."""
        if groups not in self._op_layouts:
            tried = (self.op_layout(self.assignment(dealt)) for dealt in distributions(groups, self.free_factors()))
            self._op_layouts[groups] = tuple(each for each in tried if each is not None)
        return self._op_layouts[groups]

    def op_layouts_beside(
        self, fixed: Assignment, groups: Sequence[DigitTuple], order: DigitTuple = ()
    ) -> Iterator[OpLayout]:
        """Yield the op layouts with the digits of an assignment, and with each group of digits at any place.

        A linear op may also take operands that are partial along groups. The digits of one factor have the order of
        `order`, which is that of their numbers if there is none.
        """
        key = order.index if order else int
        partial_sets = (fixed.partial_operands,) if fixed.partial else self.partial_sets
        for count in range(len(groups) + 1 if partial_sets else 1):
            for chosen in combinations(groups, count):
                others = tuple(group for group in groups if group not in chosen)
                for dealt in distributions(others, self.free_factors()):
                    factors = tuple(
                        tuple(sorted((*own, *dealt.get(factor, ())), key=key))
                        for factor, own in enumerate(fixed.factors)
                    )
                    all_partial = tuple(sorted((*fixed.partial, *(digit for group in chosen for digit in group))))
                    for partial_operands in partial_sets if all_partial else ((),):
                        op_layout = self.op_layout(Assignment(factors, all_partial, partial_operands))
                        if op_layout is not None:
                            yield op_layout

    def free_factors(self) -> tuple[int, ...]:
        """Return the factors that can be sharded."""
        sizes = self.rule.factor_sizes
        return tuple(factor for factor, size in enumerate(sizes) if size > 1 and factor not in self.replicated_factors)


@lru_cache(maxsize=4096)
def shared_kind(
    rule: OpShardingRule, partial_sets: tuple[PartialOperands, ...], digits: NumberedDigits, counts: Counts
) -> LayoutNodeKind:
    """Return the kind of ops with these properties, so that modules with equal ops compute their layouts once."""
    return LayoutNodeKind(rule, partial_sets, digits, counts)


def merged(first: DigitsPerFactor, second: DigitsPerFactor) -> dict[int, DigitTuple]:
    """Return `first`, with the digits of `second` that `first` does not use, for factors that it does not shard."""
    taken = {digit for digits in first.values() for digit in digits}
    more = {
        factor: tuple(digit for digit in digits if digit not in taken)
        for factor, digits in second.items()
        if not first.get(factor)
    }
    return {**first, **more}


def distributions(groups: tuple[DigitTuple, ...], factors: tuple[int, ...]) -> Iterator[dict[int, DigitTuple]]:
    """Yield each assignment of groups of digits to one of some factors, or to none."""
    if not groups:
        yield {}
        return
    for dealt in distributions(groups[1:], factors):
        yield dealt
        for factor in factors:
            yield {**dealt, factor: groups[0] + dealt.get(factor, ())}
