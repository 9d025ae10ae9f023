"""The search for a program with equal layers, whose candidates are compared with the layers folded.

Only the best candidate is partitioned with all its layers. If it is then worse than expected, because layers got other
shardings than the one that stands for them, the search is repeated without folding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.edits import edited
from sdy.diagnostics.diagnostic import SdyError
from sdy.search.folded_program import FoldedProgram
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.sharding_search import Candidate, Price, SearchResult, ShardingSearch

TOLERANCE = 0.03  # the fraction by which a price with all layers may exceed that of the folded program


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
        result = self._search.run(seconds)
        best = self._with_all_layers(result.best)
        if best is not None and (self._is_as_expected(best, result.best) or result.is_interrupted or monotonic() > end):
            return replace(result, before=None, best=best)
        again = ShardingSearch(self.written, self.searched, self.request, self.price, is_large=True)
        other = again.run(end - monotonic())
        tried = result.tried + other.tried
        candidates = [each for each in (best, other.best) if each is not None]
        return replace(other, before=None, best=min(candidates, key=self._rank), tried=tried)

    def _with_all_layers(self, folded: Candidate) -> Candidate | None:
        """Return the candidate of the program with all layers; None if that cannot be partitioned."""
        edits = self.folded.unfolded(folded.edits)
        try:
            return Candidate(edits, self.price(edited(self.written, edits)[0]), folded.solution)
        except SdyError:
            return None

    def _is_as_expected(self, best: Candidate, folded: Candidate) -> bool:
        expected = self.request.price_of(folded.cost) * (1 + TOLERANCE)
        return best.cost.fits >= folded.cost.fits and self.request.price_of(best.cost) <= expected

    def _rank(self, candidate: Candidate) -> tuple[bool, float]:
        return self.request.rank(candidate.cost)
