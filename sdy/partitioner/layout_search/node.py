"""Ops as the search sees them: how the factors of an op are cut decides in which layouts its tensors are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sdy.model.rule import OpShardingRule, TensorMapping
from sdy.partitioner.layout_search.layout import Atoms, Cut, Layout

Mode = tuple[bool, ...]  # of each operand, whether it is partial
Cuts = Mapping[int, Cut]  # by factor
Counts = tuple[tuple[int, frozenset[int]], ...]  # by factor


class Assignment(NamedTuple):
    """How work is cut: the atoms of each factor of an op, and those along which the operands of a mode are partial."""

    factors: tuple[Cut, ...]
    partial: Cut = ()
    mode: Mode = ()


class Run(NamedTuple):
    """How an op is run: by an assignment, and with operands and results in the layouts that follow from it."""

    assignment: Assignment
    layouts: tuple[Layout, ...]  # of the operands, then the results


class Kind:
    """What ops with the same rule have in common; made once for all of them, since it remembers what it works out.

    `modes`: where such an op is linear, the operands that may be partial together, so that the results are. `counts`:
    into how many parts the factors may be cut along which the op moves elements from shard to shard.
    """

    def __init__(self, rule: OpShardingRule, modes: tuple[Mode, ...], atoms: Atoms, counts: Counts = ()) -> None:
        self.rule = rule
        self.modes = modes
        self._counts = dict(counts)
        self._atoms = atoms
        self._known: dict[Assignment, Run | None] = {}
        self._ways: dict[tuple[Cut, ...], tuple[Run, ...]] = {}
        self.whole = frozenset({*rule.need_replication, *rule.permutation})

    def run(self, assignment: Assignment) -> Run | None:
        """The run by an assignment; None where the op cannot be run so."""
        try:
            return self._known[assignment]
        except KeyError:
            layouts = self._layouts(assignment) if self._is_valid(assignment) else None
            found = None if layouts is None else Run(assignment, layouts)
            self._known[assignment] = found
            return found

    def _layouts(self, assignment: Assignment) -> tuple[Layout, ...] | None:
        layouts: list[Layout] = []
        reduced = (atom for factor in self.rule.reduction for atom in assignment.factors[factor])
        given = tuple(sorted((*reduced, *assignment.partial)))
        for place, mapping in enumerate(self.rule.tensors):
            dims = self._dims(mapping, assignment.factors)
            if dims is None:
                return None
            if place >= len(self.rule.operands):
                layouts.append(Layout(dims, given))
            else:
                is_partial = bool(assignment.partial) and assignment.mode[place]
                layouts.append(Layout(dims, assignment.partial if is_partial else ()))
        return tuple(layouts)

    def _dims(self, mapping: TensorMapping, factors: tuple[Cut, ...]) -> tuple[Cut, ...] | None:
        dims: list[Cut] = []
        for dim in mapping:
            cut: Cut = ()
            is_full = True
            for factor in dim:
                if factors[factor] and not is_full:
                    return None  # each device would hold elements in strides
                cut += factors[factor]
                is_full = is_full and self._atoms.count(factors[factor]) == self.rule.factor_sizes[factor]
            dims.append(cut)
        return tuple(dims)

    def _is_valid(self, assignment: Assignment) -> bool:
        """Whether no atom is there twice, all cuts are even, and what must be whole is."""
        every = [*assignment.partial, *(atom for cut in assignment.factors for atom in cut)]
        return len(set(every)) == len(every) and all(
            not cut or self._may_be_cut(factor, cut) for factor, cut in enumerate(assignment.factors)
        )

    def _may_be_cut(self, factor: int, cut: Cut) -> bool:
        counts = self._counts.get(factor)
        return (
            factor not in self.whole
            and self._atoms.divides(self.rule.factor_sizes[factor], cut)
            and (counts is None or self._atoms.count(cut) in counts)
        )

    def project(self, place: int, layout: Layout) -> dict[int, Cut] | None:
        """The cuts of the factors of one tensor that give it this layout; None where none do."""
        found: dict[int, Cut] = {}
        for dim, cut in zip(self.rule.tensors[place], layout.dims, strict=True):
            left = list(cut)
            for factor in dim[:-1]:
                room = self.rule.factor_sizes[factor]
                own: list[int] = []
                while left and room % self._atoms.sizes[left[0]] == 0:
                    room //= self._atoms.sizes[left[0]]
                    own.append(left.pop(0))
                found[factor] = tuple(own)
                if left and room > 1:
                    return None
            if dim:
                found[dim[-1]] = tuple(left)
        return found

    def assignment(self, cuts: Cuts) -> Assignment:
        """The assignment with these cuts, and no others."""
        return Assignment(tuple(cuts.get(factor, ()) for factor in range(len(self.rule.factor_sizes))))

    def ways(self, groups: tuple[Cut, ...]) -> tuple[Run, ...]:
        """The runs by every way to deal groups of atoms among the factors, each to one of them or to none."""
        if groups not in self._ways:
            tried = (self.run(self.assignment(cuts)) for cuts in _ways_to_deal(groups, self.free_factors()))
            self._ways[groups] = tuple(run for run in tried if run is not None)
        return self._ways[groups]

    def free_factors(self) -> tuple[int, ...]:
        """The factors that may be cut."""
        sizes = self.rule.factor_sizes
        return tuple(factor for factor, size in enumerate(sizes) if size > 1 and factor not in self.whole)


def merged(first: Cuts, second: Cuts) -> dict[int, Cut]:
    """`first`, and what of `second` cuts factors that `first` does not cut, by atoms that it does not use."""
    taken = {atom for cut in first.values() for atom in cut}
    more = {
        factor: tuple(atom for atom in cut if atom not in taken)
        for factor, cut in second.items()
        if not first.get(factor)
    }
    return {**first, **more}


def _ways_to_deal(groups: tuple[Cut, ...], factors: tuple[int, ...]) -> Iterator[dict[int, Cut]]:
    """Every way to give each group of atoms to one of some factors, or to none."""
    if not groups:
        yield {}
        return
    for dealt in _ways_to_deal(groups[1:], factors):
        yield dealt
        for factor in factors:
            yield {**dealt, factor: groups[0] + dealt.get(factor, ())}
