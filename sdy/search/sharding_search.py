"""Search for the best shardings of a program on one mesh.

1. Solve the cost network of the program, within the free memory.
2. Turn each solution into annotations: of the arguments, of the results too, and with sharding constraints inside.
3. Partition the annotated programs, and keep the best by the cost of what each device then runs.
4. In a small program, change one decision after the other while that is better, at the price of the partitioned
   program: which named dims an axis shards, starting from the program without annotations and from the best candidate,
   then the layout of one argument. This finds plans whose latencies the network misjudges, since collectives combine,
   so it goes on without a gap, unless no plan can save as much time as annotations must, or the best candidate reaches
   the lower bound of a network in which collectives have little latency. It ends if it finds nothing better for long.

For a program that returns the next values of arguments, such as a training step, the plans that people write first are
partitioned before all this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.edits import Edit, edited
from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import SdyError
from sdy.diagnostics.progress import TimeUpError, note_step, stage, stopping_at
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.slicing import ShiftingOp
from sdy.dialects.stablehlo.window import WindowOp
from sdy.search.annotations import boundary_edits, for_jit, share_as_planned, with_constraints
from sdy.search.neighbours import Neighbours
from sdy.search.planned_shardings import PlannedShardings, planned_shardings
from sdy.search.search_end import Progress, SearchEnd
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import Goal, Partition, SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.solutions import Solution
from sdy.search.transfer_costs import Objective

Price = Callable[[ModuleOp], ProgramCost]

MAX_SOLUTIONS = 3  # for one objective; each has less memory than the one before
SMALL_GAIN = 0.02  # the fraction of the goal that more annotations must save
GAIN_OF_CONSTRAINTS = 0.05  # the fraction that constraints must save: they are lines inside of a model
LEAST_SECONDS = 1e-6  # that annotations must save, about the latency of one collective
LEAST_GAIN = 1e-3  # the fraction of the score that another layout of an argument must save
NEAR_BOUND = 1.01  # the cost of the best candidate, relative to a lower bound, with which the search ends
MISJUDGED = 0.95  # the same, below which the bound says nothing
TINY = 1e-12  # seconds
LEAST_AS_PLANNED = 0.5  # the share of values with which annotations of arguments alone are worth a partition
SHARE_OF_SOLVER = 0.5  # of the time


@dataclass(frozen=True, slots=True)
class Candidate:
    """Annotations of a program, with the cost of the partitioned program, and the solution that they come from.

    `planned` are the shardings of the solution, if the annotations are chosen so that propagation leads to them.
    """

    edits: Sequence[Edit]
    cost: ProgramCost
    solution: Solution | None = None
    planned: PlannedShardings | None = None

    @property
    def constraint_count(self) -> int:
        """The number of sharding constraints inside the program."""
        return sum(edit.is_constraint for edit in self.edits)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best candidate, the others in order, the cost of the program as it was, and the first solution.

    The solution has a lower bound.
    `before` is None if the program as it was has only been partitioned with its layers folded. `can_shard` is false if
    no op can be sharded at all: no axis divides a dim, or the rules of the ops need all dims unsharded.
    """

    before: ProgramCost | None
    best: Candidate
    others: Sequence[Candidate]
    tried: int
    solution: Solution | None
    end: SearchEnd
    can_shard: bool


@dataclass(slots=True)
class ShardingSearch:
    """The search for one program on one mesh. `written` may have annotations, which stay.

    `searched` is the same program in the form that is searched. `price` partitions a module and returns its cost. With
    `is_large`, few candidates are partitioned.
    """

    written: ModuleOp
    searched: SearchedModule
    request: SearchRequest
    price: Price
    is_large: bool = False
    networks: SearchNetworks = field(init=False)
    _neighbours: Neighbours = field(init=False)
    _candidates: list[Candidate] = field(init=False, default_factory=list[Candidate])
    _known: dict[frozenset[Edit], Candidate | None] = field(init=False)  # by edits; None for those without a price
    _progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.networks = SearchNetworks(self.written, self.searched, self.request)
        self._neighbours = Neighbours(self.written, self.searched)
        self._known = {}
        self._progress = Progress(0.0)

    def run(self, seconds: float) -> SearchResult:
        """Search until nothing is better or time is up. An interrupt (Ctrl-C) ends it with the best result so far.

        Raises: SdyError if the program cannot be partitioned as it is, or SDY-T250 if HiGHS is needed and missing.
        """
        self._progress = Progress(monotonic() + seconds)
        before = Candidate((), self.price(self.written))
        self._known[frozenset()] = before
        self._candidates.append(before)
        solution: Solution | None = None
        try:
            with stopping_at(self._progress.end):
                first, *others = self.request.goal.objectives()
                share = SHARE_OF_SOLVER * seconds / (1 if self.is_large else 1 + len(others))
                if not self._saves_too_little():
                    self._price_usual()  # first: they take little time
                solution, end = self._search(first, share), SearchEnd.SOLVED
                if not self.is_large:
                    end = self._beyond_first(others, share)
        except TimeUpError:
            end = SearchEnd.TIME_UP
        except KeyboardInterrupt:
            end = SearchEnd.INTERRUPT
        tried, can_shard = len(self._candidates), self.searched.can_shard
        best, *others = self.ranked()
        return SearchResult(before.cost, best, others, tried, solution, end, can_shard)

    @property
    def plain(self) -> Candidate:
        """The program as it was, once the search has begun."""
        return self._candidates[0]

    def ranked(self) -> list[Candidate]:
        """Return all candidates, the best ones first."""
        best = self._best()
        others = (each for each in self._candidates if each is not best)
        return [best, *sorted(others, key=lambda each: self.request.rank(each.cost))]

    def _search(self, objective: Objective, seconds: float) -> Solution | None:
        """Price what the solutions of one objective stand for; return the first solution.

        `seconds` is the time for all solutions, once the network is built.
        """
        _, network = self.networks.solver(objective, seconds)
        end = monotonic() + seconds
        free, first = self.networks.free_bytes, None
        for _ in range(MAX_SOLUTIONS):
            note_step("choose shardings")
            solution = self.networks.solution(objective, free, end - monotonic())
            if solution is None:
                break
            first = first or solution
            planned = planned_shardings(self.written, self.searched, network, solution.labels)
            found = [
                each
                for edits in self._variants(planned)
                if (each := self._priced(edits, solution, planned)) is not None
            ]
            if not found or monotonic() > self._progress.end:
                break
            if free == 0:  # the solver knows no less memory; the partitioned programs may differ in it
                free = 0.98 * min(each.cost.peak_bytes for each in found)
                continue
            if any(each.cost.fits for each in found) or solution.peak_bytes > free:  # it already has the least memory
                break
            # The partitioned program needs more than the solution: search with as much less.
            free *= 0.98 * self.request.free_bytes / min(each.cost.peak_bytes for each in found)
        return first

    def _variants(self, planned: PlannedShardings) -> Iterator[Sequence[Edit]]:
        """Yield annotations for the planned shardings, the fewest first."""
        digits = self.searched.graph.digits
        arguments = boundary_edits(self.written, planned, digits, with_results=False)
        sharded = [edit for edit in arguments if any(dim.axes for dim in edit.sharding.dims)]
        # A large program takes long to partition if propagation leads to shardings that nobody planned.
        options = self.request.options
        if not self.is_large or share_as_planned(self.written, planned, sharded, options) >= LEAST_AS_PLANNED:
            yield sharded
        if not self.is_large:
            yield arguments
        boundary = boundary_edits(self.written, planned, digits)
        constrained = with_constraints(self.written, planned, boundary, options)
        most = self.request.constraints
        # The first ones in the program come first: others follow from them by propagation.
        limited = constrained if most is None else constrained[: len(boundary) + most]
        has_constraints = len(limited) > len(boundary)
        if not has_constraints or most is not None or not self.is_large:
            yield boundary
        if has_constraints:
            yield limited

    @garbage_collection_paused()
    def _priced(
        self, edits: Sequence[Edit], solution: Solution | None, planned: PlannedShardings | None = None
    ) -> Candidate | None:
        """Return the candidate with these edits; None if its program cannot be partitioned. Each is priced once."""
        if edits and self.request.partition is Partition.JIT:
            edits = for_jit(self.written, edits, self.request.state, self.searched.mesh_name)
        key = frozenset(edits)
        if key not in self._known:
            try:
                with stage(f"candidate {len(self._known) + 1}"):
                    cost = self.price(edited(self.written, edits)[0])
            except SdyError:
                self._known[key] = None
                return None
            found = self._known[key] = Candidate(edits, cost, solution, planned)
            if self._is_better(found, min(self._candidates, key=lambda each: self.request.score(each.cost))):
                self._progress.note_gain()
            self._candidates.append(found)
        return self._known[key]

    def _best(self) -> Candidate:
        """Return the best candidate that fits, or else that with the least memory.

        Of candidates that are almost equally good, the one with the fewest annotations.
        """
        most = self.request.constraints
        allowed = [each for each in self._candidates if most is None or each.constraint_count <= most]
        fitting = [each for each in allowed if each.cost.fits]
        if not fitting:
            return min(allowed, key=lambda each: each.cost.peak_bytes)
        price, plain = self.request.price_of, self.plain
        least = min(price(each.cost) for each in fitting)
        if plain.cost.fits and self.request.goal is Goal.TIME and price(plain.cost) < least + LEAST_SECONDS:
            return plain
        enough = [
            each
            for each in fitting
            if price(each.cost) <= least * (1 + (SMALL_GAIN if each.constraint_count else GAIN_OF_CONSTRAINTS))
        ]
        return min(enough, key=lambda each: (len(each.edits) > 0, each.constraint_count, price(each.cost)))

    def _saves_too_little(self) -> bool:
        """Return whether no candidate can save enough time to be better than the program as it was.

        On shards, the ops take at least the time of the whole ones, divided by the number of devices.
        """
        cost = self.plain.cost
        if not cost.fits or self.request.goal is not Goal.TIME:
            return False
        least = cost.op_seconds / self.searched.mesh.device_count
        return self.request.price_of(cost) < least + LEAST_SECONDS

    def _beyond_first(self, others: Sequence[Objective], seconds: float) -> SearchEnd:
        """Search a small program beyond the solutions of the first objective; return the reason for the end."""
        if self._saves_too_little():
            return SearchEnd.TOO_LITTLE
        for objective in others:
            if monotonic() > self._progress.end:
                return SearchEnd.TIME_UP
            self._search(objective, seconds)
            if self._reaches_bound(objective, seconds):
                return SearchEnd.BOUND
        return self._improve()

    def _price_usual(self) -> None:
        """Price the annotations that people try first, for a program that returns the next values of arguments."""
        state = set(self.request.state.values())
        for edits in self._neighbours.usual(state) if state else ():
            self._priced(edits, None)
            if monotonic() > self._progress.end:
                break

    def _reaches_bound(self, objective: Objective, seconds: float) -> bool:
        """Return whether the best candidate costs hardly more than the lower bound of an objective.

        The latency of collectives counts little in the other objectives, so that their bounds also hold for plans
        whose collectives combine. If a partitioned program costs much less than the bound, the network misjudges it; so
        it may if the program has ops whose shards exchange their edges, which the network takes for unsharded.
        """
        request = self.request
        has_bound = self.networks.has_all_choices and request.goal is Goal.TIME and not request.overlap
        if not has_bound or any(isinstance(op, ShiftingOp | WindowOp) for op in pre_order(self.searched.module)):
            return False
        fitting = [request.price_of(each.cost) for each in self._candidates if each.cost.fits]
        if not fitting:
            return False
        solution = self.networks.solve(objective, seconds)
        return solution is not None and MISJUDGED <= min(fitting) / max(solution.bound, TINY) <= NEAR_BOUND

    def _improve(self) -> SearchEnd:
        """Improve the best candidate, and the program as it was; return the reason for the end."""
        self._progress.note_gain()  # the search for a gain begins here
        return (
            self._choose_named_dims(self._best())
            or self._choose_named_dims(self.plain)
            or self._choose_named_dims(self._best())
            or self._choose_layouts(self._best())
            or self._choose_layouts(self.plain)
            or SearchEnd.NOTHING_BETTER
        )

    def _choose_named_dims(self, candidate: Candidate) -> SearchEnd | None:
        """Choose the best named dims for one axis after the other while that is better; return a reason to stop."""
        is_better = True
        while is_better:
            is_better = False
            for axis in self._neighbours.axes:
                found = candidate
                for edits in self._neighbours.along_axis(candidate.edits, axis):
                    if end := self._progress.reached_end():
                        return end
                    tried = self._priced(edits, candidate.solution)
                    found = tried if tried is not None and self._is_better(tried, found) else found
                candidate, is_better = found, is_better or found is not candidate
        return None

    def _choose_layouts(self, candidate: Candidate) -> SearchEnd | None:
        """Change the layout of one argument after the other while that is better; return a reason to stop."""
        is_better = True
        while is_better:
            is_better = False
            for edits in self._neighbours.of_arguments(candidate.edits):
                if end := self._progress.reached_end():
                    return end
                found = self._priced(edits, candidate.solution)
                if found is not None and self._is_better(found, candidate):
                    candidate, is_better = found, True
                    break
        return None

    def _is_better(self, candidate: Candidate, other: Candidate) -> bool:
        score = self.request.score
        return score(candidate.cost) < score(other.cost) * (1 - LEAST_GAIN)
