"""A program with equal layers folded into functions, on which candidates are compared.

Propagation, partitioning and costs then take as long for a hundred layers as for a few. Only what is reported is
partitioned with all its layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Edit
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
from sdy.search.planned_shardings import PlannedShardings


@dataclass(frozen=True, slots=True)
class FoldedProgram:
    """A copy `module` of a program `written` by the user, in which one function stands for equal layers.

    `originals` has the values of `written` that each result of an op of `module` stands for: one, or one per layer. Ops
    without a location have no entries.
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
