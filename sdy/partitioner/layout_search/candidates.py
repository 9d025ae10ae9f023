"""The assignments that a node may try: those by which it fits its neighbours, or, of a contraction, every one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdy.partitioner.layout_search.alone import Alone
from sdy.partitioner.layout_search.layout import Cut, Layout, used
from sdy.partitioner.layout_search.node import Assignment, Kind, Mode, Run, merged
from sdy.partitioner.layout_search.state import State

MOST_WAYS = 512  # of cutting the factors of a contraction: beyond, the atoms of one mesh axis stay together


def candidates(state: State, number: int, alone: Alone) -> Iterator[Run]:
    """Runs of a node, other than its own. `alone` is of that node."""
    node = state.graph.nodes[number]
    for assignment in dict.fromkeys(_tried(state, number, alone)):
        run = node.kind.run(assignment)
        if run is not None and assignment != node.run.assignment:
            yield run


def _tried(state: State, number: int, alone: Alone) -> Iterator[Assignment]:
    node = state.graph.nodes[number]
    modes = [(mode, partial) for mode in node.kind.modes for partial in _partial_atoms(state, number, mode)]
    bases = [node.run.assignment]
    if state.patterns.recut:
        bases += dict.fromkeys(_recut(state, number, alone))
    for base in bases:
        yield Assignment(base.factors)
        if state.patterns.delay:
            for mode, partial in modes:
                yield Assignment(base.factors, partial, mode)


def _partial_atoms(state: State, number: int, mode: Mode) -> set[Cut]:
    """Along which atoms the operands of a mode come partial."""
    values = state.graph.nodes[number].values
    given = (state.layout(value).unreduced for value, is_partial in zip(values, mode, strict=False) if is_partial)
    return {atoms for atoms in given if atoms}


def _recut(state: State, number: int, alone: Alone) -> Iterator[Assignment]:
    """Without partial operands."""
    node = state.graph.nodes[number]
    kind = node.kind
    own = dict(enumerate(node.run.assignment.factors))
    yield kind.assignment({})
    projected = (kind.project(place, layout) for place, layout in dict.fromkeys(_neighbours(state, number)))
    seen = {tuple(sorted(cuts.items())): cuts for cuts in projected if cuts is not None}.values()
    for cuts in seen:
        yield kind.assignment(cuts)
        for other in (own, *seen):
            yield kind.assignment(merged(cuts, other))
    if kind.rule.reduction or node.flops:
        shares = state.patterns.share and not _is_scattered_at_once(state, number)
        atoms = range(len(state.atoms.sizes)) if shares else sorted(_atoms_around(state, number))
        for run in every_way(kind, state, atoms):
            if not state.computes_more(number, run) and alone.least_change(run) < 0:
                yield run.assignment


def _is_scattered_at_once(state: State, number: int) -> bool:
    """Whether the result of a node only wants a reduce-scatter: each device reduces a part of it already."""
    values = state.graph.nodes[number].values
    layout, needs = state.layout(values[-1]), state.needs(values[-1])
    pending = set(layout.unreduced)
    return bool(pending) and len(needs) == 1 and all(pending <= used(need.dims) - used(layout.dims) for need in needs)


def _atoms_around(state: State, number: int) -> set[int]:
    """The atoms by which the tensors of a node are cut, or partial, anywhere."""
    layouts = [layout for _, layout in _neighbours(state, number)]
    return {atom for layout in layouts for atom in (*layout.unreduced, *used(layout.dims))}


def every_way(kind: Kind, state: State, atoms: Sequence[int]) -> Sequence[Run]:
    """All runs of an op by some atoms, or where these are too many, all that leave mesh axes as they are."""
    count = len(kind.free_factors()) + 1
    for groups in (tuple((atom,) for atom in atoms), state.atoms.by_axis(atoms)):
        if count ** len(groups) <= MOST_WAYS:
            return kind.ways(groups)
    return ()


def _neighbours(state: State, number: int) -> Iterator[tuple[int, Layout]]:
    """The layouts that the tensors of a node have, or are wanted in, anywhere; each with the tensor's place."""
    for place, value in enumerate(state.graph.nodes[number].values):
        yield place, state.layout(value)
        for layout in state.needs(value):
            yield place, layout
