"""The search for a program with equal layers, whose candidates are compared with the layers folded.

Only the best candidate is partitioned with all its layers, and the next ones while those seem better than it then is:
layers may get other shardings than the one that stands for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Edit, edited
from sdy.diagnostics.diagnostic import SdyError
from sdy.diagnostics.progress import TimeUpError, stopping_at
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.module_text import make_context
from sdy.passes.export.layers.fold_layers import (
    FoldLayersPass,
    folded_locations,
    has_folded_layers,
    stored_locations,
)
from sdy.passes.run import run_passes
from sdy.search.annotations import with_constraints
from sdy.search.planned_shardings import PlannedShardings
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
            with stopping_at(end):
                for folded in self._search.ranked()[:MOST_UNFOLDED]:
                    if found and self._rank(found[-1]) <= self._rank(folded):
                        break
                    found += self._with_all_layers(folded)
        except TimeUpError:
            result = replace(result, end=SearchEnd.TIME_UP)
        except KeyboardInterrupt:
            result = replace(result, end=SearchEnd.INTERRUPT)
        if not found:
            # Only the cost of the folded program is known: of the best candidate, or of the program as it was.
            best = self._search.plain if result.end.is_complete else result.best
            found.append(replace(best, edits=self.folded.unfolded(best.edits)))
        best, *others = sorted(found, key=self._rank)
        return replace(result, before=None, best=best, others=others)

    def _rank(self, candidate: Candidate) -> tuple[bool, float]:
        return self.request.rank(candidate.cost)

    def _with_all_layers(self, folded: Candidate) -> list[Candidate]:
        """Return the candidate of the program with all layers; none if that cannot be partitioned.

        A layer may get other shardings than planned only if propagation sees all layers, so it may need a constraint.
        """
        edits = self.folded.unfolded(folded.edits)
        # Constraints that are limited in number are not added to.
        if folded.planned is not None and folded.constraint_count and self.request.constraints is None:
            edits = with_constraints(
                self.written, self.folded.unfolded_plan(folded.planned), edits, self.request.options, rounds=1
            )
        try:
            return [Candidate(edits, self.price(edited(self.written, edits)[0]), folded.solution)]
        except SdyError:
            return []


@dataclass(frozen=True, slots=True)
class FoldedProgram:
    """A copy `module` of a program `written` by the user, in which one function stands for equal layers.

    `originals` has the values of `written` that each result of an op of `module` stands for: one, or one per layer. Ops
    without a location have no entries.

    Propagation, partitioning and costs then take as long for a hundred layers as for a few. Only what is reported is
    partitioned with all its layers.
    """

    written: ModuleOp
    module: ModuleOp
    originals: dict[SSAValue, list[SSAValue]]

    def unfolded(self, edits: Sequence[Edit]) -> list[Edit]:
        """Return the edits of `written` that edits of `module` stand for: those of a layer are repeated for each."""
        arguments = main_function(self.module).body.block.args
        originals: dict[SSAValue, Sequence[SSAValue]] = dict(self.originals)
        for argument, original in zip(arguments, main_function(self.written).body.block.args, strict=True):
            originals[argument] = (original,)
        found: list[Edit] = []
        for edit in edits:
            if isinstance(edit.target, int):
                found.append(edit)
            else:
                found += [replace(edit, target=each) for each in originals[edit.target]]
        return found

    def unfolded_plan(self, planned: PlannedShardings) -> PlannedShardings:
        """Return the planned shardings of values of `written` for those of `module`."""
        inside = {
            original: sharding for value, sharding in planned.inside.items() for original in self.originals[value]
        }
        return replace(planned, inside=inside)


@garbage_collection_paused()
def folded_program(written: ModuleOp) -> FoldedProgram | None:
    """Fold the equal layers of a program.

    Return None if no layers are equal, or if ops share locations, by which the ops of folded layers are found again.
    """
    by_location = _by_location(op for op in pre_order(written) if op.results)
    if by_location is None:
        return None
    module = copy_with_regions(written)
    run_passes(make_context(), module, [FoldLayersPass()], verify_each=False)
    if not has_folded_layers(module):
        return None
    for call in ops_of(module, CallOp):
        if stored_locations(call):
            call.location = UnknownLoc()  # instead of that of the first op of the layer, which it does not stand for
    locations = folded_locations(module)
    originals: dict[SSAValue, list[SSAValue]] = {}
    for op in pre_order(module):
        copies = [by_location[each] for each in locations.get(op.location, (op.location,)) if each in by_location]
        for index, result in enumerate(op.results):
            originals[result] = [copy.results[index] for copy in copies]
    return FoldedProgram(written, module, originals)


def _by_location(ops: Iterable[Operation]) -> dict[LocationAttr, Operation] | None:
    """Return ops by their locations; None if two have the same one. The short form of a reduction has no locations."""
    found: dict[LocationAttr, Operation] = {}
    for op in ops:
        if isinstance(op.location, UnknownLoc):
            continue
        if op.location in found:
            return None
        found[op.location] = op
    return found
