"""The search for a program with equal layers, whose candidates are compared with the layers folded.

Only the best candidate is partitioned with all its layers, and the next ones while those seem better than it then is:
layers may get other shardings than the one that stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.edits import edited
from sdy.diagnostics.diagnostic import SdyError
from sdy.search.annotations import with_constraints
from sdy.search.folded_program import FoldedProgram
from sdy.search.search_end import SearchEnd
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.sharding_search import Candidate, Price, SearchResult, ShardingSearch

MOST_UNFOLDED = 2  # candidates that are partitioned with all layers


@dataclass(slots=True)
class LayeredSearch:
    """The search for one program on one mesh, as `ShardingSearch`. `price` also takes the module with folded layers."""

    folded: FoldedProgram
    searched: SearchedModule
    request: SearchRequest
    price: Price
    _search: ShardingSearch = field(init=False)

    def __post_init__(self) -> None:
        self._search = ShardingSearch(self.folded.module, self.searched, self.request, self.price, is_large=True)

    @property
    def written(self) -> ModuleOp:
        """The program with all its layers, which may have annotations."""
        return self.folded.written

    @property
    def networks(self) -> SearchNetworks:
        """The cost networks of the program."""
        return self._search.networks

    def run(self, seconds: float) -> SearchResult:
        """Search until nothing is better or time is up, as `ShardingSearch.run`, and return edits of `written`.

        The result has no cost of the program as it was.
        Raises: SdyError as `ShardingSearch.run`.
        """
        end = monotonic() + seconds
        result, found = self._search.run(seconds), list[Candidate]()
        try:
            for folded in self._search.ranked()[:MOST_UNFOLDED]:
                if found and (monotonic() > end or self._rank(found[-1]) <= self._rank(folded)):
                    break
                found += self._with_all_layers(folded)
        except KeyboardInterrupt:
            result = replace(result, end=SearchEnd.INTERRUPT)
        if not found:
            # Only the cost of the folded program is known: of the best candidate, or of the program as it was.
            best = result.best if result.end is SearchEnd.INTERRUPT else self._search.plain
            found.append(replace(best, edits=self.folded.unfolded(best.edits)))
        return replace(result, before=None, best=min(found, key=self._rank))

    def _rank(self, candidate: Candidate) -> tuple[bool, float]:
        return self.request.rank(candidate.cost)

    def _with_all_layers(self, folded: Candidate) -> list[Candidate]:
        """Return the candidate of the program with all layers; none if that cannot be partitioned.

        A layer may get other shardings than planned only if propagation sees all layers, so it may need a constraint.
        """
        edits = self.folded.unfolded(folded.edits)
        if folded.planned is not None and folded.constraint_count:
            edits = with_constraints(
                self.written, self.folded.unfolded_plan(folded.planned), edits, self.request.options, rounds=1
            )
        try:
            return [Candidate(edits, self.price(edited(self.written, edits)[0]), folded.solution)]
        except SdyError:
            return []
