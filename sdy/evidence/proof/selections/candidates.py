"""Candidates: contributions of several devices, one after the other along a dim, and what they are combined to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from sdy.evidence.proof.contributions import IDEMPOTENT, REPEATABLE
from sdy.evidence.proof.offsets import Groups, at
from sdy.evidence.proof.relations import SELECTION, Candidates, NotProvedError, Relation, View, partial_of
from sdy.evidence.proof.terms import Arguments


def candidates_of(view: View, dim: int) -> Candidates | None:
    """Return the contributions of each device to a value as candidates along a dim; None if it is not partial."""
    if view.partial is None:
        return None
    sets = tuple((each,) for each in view.partial.masks)
    return Candidates(replace(view, partial=None), dim, view.partial.kind, sets, view.partial.whole)


def gathered_candidates(relation: Relation, dim: int, groups: Groups) -> Candidates | None:
    """Return what an all-gather gives of different contributions, or of candidates; None of other values.

    Raises: NotProvedError if they are not gathered along the dim of the candidates, or not of the same elements.
    """
    is_row = isinstance(relation, View) and not relation.dims[dim]
    candidates = candidates_of(relation, dim) if isinstance(relation, View) and is_row else relation
    if not isinstance(candidates, Candidates):
        return None
    if is_row and all(len({candidates.sets[device] for device in group}) == 1 for group in groups):
        return None  # windows of the same contributions
    if candidates.dim != dim or candidates.shift or candidates.view.term.is_varying:
        raise NotProvedError("expected an all-gather along the dim of the contributions")
    sets = list(candidates.sets)
    for group in groups:
        if any(len({at(base, device) for device in group}) > 1 for base in candidates.view.base):
            raise NotProvedError("devices of one group have contributions to different elements")
        joined = tuple(bits for device in group for bits in candidates.sets[device])
        for device in group:
            sets[device] = joined
    return replace(candidates, sets=tuple(sets))


def combined_candidates(candidates: Candidates) -> View:
    """Return the view of what candidates are combined to, which has one value for all of them along their dim.

    Raises: NotProvedError if some contribution counts twice, or is out of order.
    """
    masks = tuple(_union(candidates.kind, sets) for sets in candidates.sets)
    is_complete = all(mask == candidates.whole for mask in masks)
    partial = None if is_complete else partial_of(candidates.kind, masks, candidates.whole)
    return replace(candidates.view, partial=partial)


def _union(kind: str, sets: Sequence[int]) -> int:
    """Return the union of sets of contributions that are combined in order."""
    union = 0
    for each in dict.fromkeys(sets) if kind in REPEATABLE else sets:
        if kind == SELECTION and each & -each <= union:
            raise NotProvedError("the contributions to a selection are not in the order of the elements")
        if kind not in IDEMPOTENT and union & each:
            raise NotProvedError("a contribution counts twice")
        union |= each
    return union


def are_selected_by(name: str, attributes: Hashable, candidates: Sequence[Candidates]) -> bool:
    """Return whether candidates are alike, and for the results, in order, of an op with these attributes."""
    first = candidates[0]
    key = _key(first, 0)
    if first.kind != SELECTION or first.view.term.op != name or key is None or key.own != attributes:
        return False
    are_alike = all(replace(each, view=replace(each.view, term=first.view.term)) == first for each in candidates)
    is_one_op = all(
        (each.view.term.op, each.view.term.operands, _key(each, number)) == (name, first.view.term.operands, key)
        for number, each in enumerate(candidates)
    )
    return are_alike and is_one_op


def _key(candidates: Candidates, number: int) -> Arguments | None:
    """Return what determines the op that candidates are of; None if they are not for the result of this number."""
    found = candidates.view.term.attributes
    if not isinstance(found, Arguments) or found.result != number:
        return None
    # Each result of a top_k has its own factor of the last dim.
    return found._replace(result=0, result_factors=tuple(max(each, -1) for each in found.result_factors))
