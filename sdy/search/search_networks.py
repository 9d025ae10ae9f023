"""The cost networks of a program for the objectives of one search, with what the user annotated kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, cycle, pairwise
from math import inf
from time import monotonic

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.sharding import TensorSharding
from sdy.partitioner.layout_search.layout import Atoms, AtomTuple, Layout
from sdy.partitioner.layout_search.node import Run
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.search.goal import Goal
from sdy.search.memory import LeastMemory
from sdy.search.program_network import ProgramNetwork
from sdy.search.run_choices import RunChoices
from sdy.search.search_request import SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.solutions import Solution, Solver
from sdy.search.transfer_costs import Objective, TransferCosts

MOST_AXES_AT_ONCE = 3
AXES_OF_A_TURN = 2
LEAST_GAIN = 1e-3  # the fraction of the cost that the placement of two axes must save


class SearchNetworks:
    """The networks of `searched`, which is `written` by the user with annotations that stay."""

    def __init__(self, written: ModuleOp, searched: SearchedModule, request: SearchRequest) -> None:
        self._written = written
        self._searched = searched
        self._request = request
        self._atoms = searched.graph.atoms
        self._transfers = TransferCosts(self._atoms, request.hardware)
        self._order = self._order_of_axes()
        self._solutions: dict[tuple[Objective, float], Solution] = {}
        self._solvers: dict[Objective, tuple[Solver, ProgramNetwork]] = {}

    @property
    def free_bytes(self) -> float:
        """The memory within which solutions are searched: none if memory is what counts."""
        return 0.0 if self._request.goal is Goal.MEMORY else self._request.free_bytes

    @property
    def has_all_choices(self) -> bool:
        """Whether the networks have all placements of all axes, so that their lower bounds hold for every sharding."""
        return len(self._atoms.sizes) <= MOST_AXES_AT_ONCE

    def solve(self, objective: Objective, seconds: float) -> Solution | None:
        """Return the best solution of the cost network alone, which compares meshes without partitioning."""
        return self.solution(objective, self.free_bytes, seconds)

    def solution(self, objective: Objective, free_bytes: float, seconds: float) -> Solution | None:
        """Return the best solution that fits into `free_bytes`, as `Solver.solve`, for the network of `solver`.

        If messages leave a gap on three axes, the solution is improved by placing two axes at a time.
        """
        key = objective, free_bytes
        if key not in self._solutions:
            solver, network = self.solver(objective, seconds)
            end = monotonic() + seconds
            found = solver.solve(free_bytes, seconds)
            if found is None:
                return None
            is_best = found.gap <= LEAST_GAIN or len(self._atoms.sizes) <= AXES_OF_A_TURN or not self.has_all_choices
            self._solutions[key] = (
                found if is_best else self._improved(objective, network, found, free_bytes, end - monotonic())
            )
        return self._solutions[key]

    def _improved(
        self, objective: Objective, network: ProgramNetwork, found: Solution, free_bytes: float, seconds: float
    ) -> Solution:
        """Return a solution of a network of all choices that is at least as good; the lower bound is the same."""
        start = network.chosen(found.labels), _rank(found, free_bytes)
        _, other, better = self._by_pairs(objective, free_bytes, seconds, *start)
        if better is None or _rank(better, free_bytes) >= start[1]:
            return found
        labels = network.labels_like(other, better.labels)
        return replace(better, labels=labels, bound=min(found.bound, better.cost))

    def least_memory(self) -> LeastMemory:
        """Return the bytes that a device needs under every sharding that the search knows; 0 if it needed no bound."""
        solver, _ = self.solver(self._request.goal.objectives()[0], 0.0)
        return solver.least_memory() if self.has_all_choices else LeastMemory(0.0, ())

    def solver(self, objective: Objective, seconds: float) -> tuple[Solver, ProgramNetwork]:
        """Return the cost network for an objective, with its solver.

        On a mesh of many axes, the network has all placements of two axes, with the others where they are in the best
        solution that was found in `seconds`.
        """
        if objective not in self._solvers:
            if self.has_all_choices:
                self._solvers[objective] = self._with_choices(objective, RunChoices(self._order, self._order))
            else:
                solver, network, _ = self._by_pairs(objective, self.free_bytes, seconds)
                self._solvers[objective] = solver, network
        return self._solvers[objective]

    def _by_pairs(
        self,
        objective: Objective,
        free_bytes: float,
        seconds: float,
        runs: Sequence[Run] | None = None,
        least: tuple[bool, float] = (True, inf),
    ) -> tuple[Solver, ProgramNetwork, Solution | None]:
        """Place two axes at a time, until no placement of any two is better; return the last network that was, solved.

        The axes are where `runs` has them at first, with the rank `least`; without runs, no op uses them.
        """
        end, required = monotonic() + seconds, self._required()
        pairs = _pairs(sorted(range(len(self._atoms.sizes)), key=lambda axis: -self._atoms.sizes[axis]))
        best: tuple[Solver, ProgramNetwork, Solution | None] | None = None
        without_gain = 0
        for pair in cycle(pairs):
            note_step(f"choose shardings along {' and '.join(self._atoms.refs[axis].name for axis in pair)}")
            self._transfers.forget_tables()
            solver, network = self._with_choices(objective, RunChoices(pair, self._order, runs, required))
            found = solver.solve(free_bytes, end - monotonic())
            best = best or (solver, network, found)
            if found is None:
                break
            rank = _rank(found, free_bytes)
            without_gain = 0 if rank < (least[0], least[1] * (1 - LEAST_GAIN)) else without_gain + 1
            if rank <= least:
                runs, least, best = network.chosen(found.labels), rank, (solver, network, found)
            if without_gain == len(pairs) or monotonic() > end:
                break
        assert best is not None
        return best

    def _with_choices(self, objective: Objective, choices: RunChoices) -> tuple[Solver, ProgramNetwork]:
        searched, hardware = self._searched, self._request.hardware
        network = ProgramNetwork(searched.module, searched.graph, self._transfers, hardware, objective, choices)
        for node, sharding in self._annotated():
            network.pin(node, lambda layout, sharding=sharding: _agrees(layout, sharding, self._atoms))
        return Solver(searched, network), network

    def _required(self) -> dict[int, Run]:
        """Return the runs with the annotations of arguments and results, by node; those that are possible."""
        found: dict[int, Run] = {}
        for node, sharding in self._annotated():
            kind = self._searched.graph.graph.nodes[node].kind
            dims = [self._atoms.split(dim.axes) for dim in sharding.dims]
            layout = Layout(tuple(each or () for each in dims))
            factors = None if None in dims else kind.project(0, layout)
            run = None if factors is None else kind.run(kind.assignment(factors))
            if run is not None:
                found[node] = run
        return found

    def _order_of_axes(self) -> AtomTuple:
        """Return the axes in the order in which annotations have them, as far as these agree, or else in mesh order."""
        before: dict[int, frozenset[int]] = dict.fromkeys(range(len(self._atoms.sizes)), frozenset())
        for _, sharding in self._annotated():
            for dim in sharding.dims:
                tried = dict(before)
                for first, second in pairwise(self._atoms.split(dim.axes) or ()):
                    tried[second] |= {first}
                if _is_possible(tried):
                    before = tried
        return tuple(TopologicalSorter(before).static_order())

    def _annotated(self) -> Iterator[tuple[int, TensorSharding]]:
        """Yield the nodes of annotated arguments and results: closed dims stay, open ones have these axes first."""
        main = main_function(self._written)
        for node, op in enumerate(self._searched.graph.ops):
            if not isinstance(op, ValueEdge) or (op.sources and op.targets):
                continue
            if op.targets:
                sharding = argument_sharding(main, _index(op.targets[0]))
            else:
                assert op.result_of is not None  # an edge without targets is that of a result
                sharding = function_result_sharding(main, op.result_of[1])
            if sharding is not None:
                yield node, sharding


def _index(value: SSAValue) -> int:
    assert isinstance(value, BlockArgument)
    return value.index


def _agrees(layout: Layout, sharding: TensorSharding, atoms: Atoms) -> bool:
    """Return whether a layout keeps a sharding; open dims may be sharded further."""
    for own, dim in zip(layout.dims, sharding.dims, strict=True):
        required = atoms.split(dim.axes)
        if required is None or (own != required if dim.is_closed else own[: len(required)] != required):
            return False
    replicated = atoms.split(sharding.replicated) or ()
    return not any(atom in replicated for dim in layout.dims for atom in dim)


def _rank(solution: Solution, free_bytes: float) -> tuple[bool, float]:
    """Return a key that is smaller for better solutions: what fits in memory comes first."""
    return solution.peak_bytes > free_bytes, solution.cost


def _is_possible(before: Mapping[int, frozenset[int]]) -> bool:
    """Return whether the axes have an order, given those that must be before each."""
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True


def _pairs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Return all pairs of axes. The first pairs have each axis once."""
    pairs = [(min(pair), max(pair)) for pair in combinations(axes, AXES_OF_A_TURN)]
    once = [(min(pair), max(pair)) for pair in zip(axes[::2], axes[1::2], strict=False)]
    return list(dict.fromkeys((*once, *pairs)))
