"""The cost networks of a program for the objectives of one search, with what the user annotated kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, cycle
from math import inf
from time import monotonic

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import tensor_bytes
from sdy.partitioner.layout_search.node import OpLayout
from sdy.search.layout_choices import KeptAnnotations, OpLayoutChoices, boundary_nodes
from sdy.search.program_network import ProgramNetwork
from sdy.search.search_request import Goal, SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.solutions import Solution, Solver
from sdy.search.transfer_costs import Objective, TransferCosts

MOST_AXES_AT_ONCE = 3
AXES_OF_A_TURN = 2
LEAST_GAIN = 1e-3  # the fraction of the cost that the placement of two axes must save


class SearchNetworks:
    """The networks of `searched`, which is `written` by the user with annotations that stay.

    On a mesh of more than three axes, a network has the placements of two axes, the others staying where they are.
    """

    def __init__(self, written: ModuleOp, searched: SearchedModule, request: SearchRequest) -> None:
        self._searched = searched
        self._request = request
        self._digits = searched.graph.digits
        self._transfers = TransferCosts(self._digits, request.hardware)
        self._annotations = KeptAnnotations(written, searched.graph)
        self._solvers: dict[Objective, tuple[Solver, ProgramNetwork]] = {}

    @property
    def free_bytes(self) -> float:
        """The memory within which solutions are searched: none if memory is what counts."""
        return 0.0 if self._request.goal is Goal.MEMORY else self._request.free_bytes

    @property
    def has_all_choices(self) -> bool:
        """Return whether a network has all placements of all axes. Otherwise it knows no lower bound of their costs."""
        return len(self._digits.sizes) <= MOST_AXES_AT_ONCE

    def solve(self, objective: Objective, seconds: float) -> Solution | None:
        """Return the best solution of the cost network alone, which compares meshes without partitioning."""
        return self.solution(objective, self.free_bytes, seconds)

    def solution(self, objective: Objective, free_bytes: float, seconds: float) -> Solution | None:
        """Return the best solution that fits into `free_bytes`, as `Solver.solve`, for the network of `solver`.

        If messages leave a gap on three axes, the solution is improved by placing two axes at a time.
        """
        solver, network = self.solver(objective, seconds)
        if free_bytes not in solver.solutions:
            end = monotonic() + seconds
            found = solver.solve(free_bytes, seconds)
            if found is None:
                return None
            has_gap = found.gap > LEAST_GAIN and sum(solver.least_memory().values()) <= free_bytes
            if has_gap and self.has_all_choices and len(self._digits.sizes) > AXES_OF_A_TURN:
                solver.solutions[free_bytes] = self._improved(objective, network, found, free_bytes, end - monotonic())
        return solver.solutions[free_bytes]

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

    def least_memory(self) -> dict[SSAValue, float]:
        """Return the values for which a device needs the most memory under every sharding; none without a bound."""
        solver, _ = self.solver(self._request.goal.objectives()[0], 0.0)
        return solver.least_memory() if self.has_all_choices else {}

    def solver(self, objective: Objective, seconds: float) -> tuple[Solver, ProgramNetwork]:
        """Return the cost network for an objective, with its solver.

        On a mesh of many axes, the network has all placements of two axes, with the others where they are in the best
        solution that was found in `seconds`.
        """
        if objective not in self._solvers:
            if self.has_all_choices:
                self._solvers[objective] = self._with_choices(objective, OpLayoutChoices.all(self._annotations.order))
            else:
                solver, network, _ = self._by_pairs(objective, self.free_bytes, seconds)
                self._solvers[objective] = solver, network
        return self._solvers[objective]

    def _by_pairs(
        self,
        objective: Objective,
        free_bytes: float,
        seconds: float,
        op_layouts: Sequence[OpLayout] | None = None,
        least: tuple[bool, float] = (True, inf),
    ) -> tuple[Solver, ProgramNetwork, Solution | None]:
        """Place two axes at a time, until no placement of any two is better; return the last network that was, solved.

        The axes are where `op_layouts` has them at first, with the rank `least`; without op layouts, no op uses them.
        """
        end, annotations = monotonic() + seconds, self._annotations
        pairs = _pairs(sorted(range(len(self._digits.sizes)), key=lambda axis: -self._digits.sizes[axis]))
        best: tuple[Solver, ProgramNetwork, Solution | None] | None = None
        without_gain = 0
        for pair in cycle(pairs):
            note_step(f"choose shardings along {' and '.join(self._digits.refs[axis].name for axis in pair)}")
            self._transfers.forget_tables()
            choices = OpLayoutChoices(pair, annotations.order, op_layouts, annotations.op_layouts)
            solver, network = self._with_choices(objective, choices)
            found = solver.solve(free_bytes, end - monotonic())
            best = best or (solver, network, found)
            if found is None:
                break
            rank = _rank(found, free_bytes)
            without_gain = 0 if rank < (least[0], least[1] * (1 - LEAST_GAIN)) else without_gain + 1
            if rank <= least:
                op_layouts, least, best = network.chosen(found.labels), rank, (solver, network, found)
            if without_gain == len(pairs) or monotonic() > end:
                break
        assert best is not None
        return best

    def _with_choices(self, objective: Objective, choices: OpLayoutChoices) -> tuple[Solver, ProgramNetwork]:
        searched, hardware = self._searched, self._request.hardware
        network = ProgramNetwork(searched.module, searched.graph, self._transfers, hardware, objective, choices)
        for node, is_allowed in self._annotations.allowed():
            network.pin(node, is_allowed)
        arguments, results = boundary_nodes(searched.graph)
        types = main_function(searched.module).function_type.inputs.data
        for result, argument in self._request.state.items():
            if result in results and argument in arguments:
                network.tie(results[result], arguments[argument], tensor_bytes(types[argument]))
        return Solver(searched, network), network


def _rank(solution: Solution, free_bytes: float) -> tuple[bool, float]:
    """Return a key that is smaller for better solutions: those that fit cost less, others need less memory."""
    fits = solution.peak_bytes <= free_bytes
    return not fits, solution.cost if fits else solution.peak_bytes


def _pairs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Return all pairs of axes. The first pairs have each axis once."""
    pairs = [(min(pair), max(pair)) for pair in combinations(axes, AXES_OF_A_TURN)]
    once = [(min(pair), max(pair)) for pair in zip(axes[::2], axes[1::2], strict=False)]
    return list(dict.fromkeys((*once, *pairs)))
