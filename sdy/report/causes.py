"""The causes of collectives: conflicts of propagation, rewrites of the optimizer, and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, AxisRef, overlaps
from sdy.report.explain import ConflictSite, Explainer


class CollectiveCauses:
    """Finds the causes of the collectives of a partitioned program, by the line of the op that each belongs to.

    `remarks` are those of partitioning.
    """

    def __init__(self, explainer: Explainer, remarks: Sequence[Diagnostic]) -> None:
        self._explainer = explainer
        self._sites: dict[int, ConflictSite] = {
            site.line: site for site in explainer.conflict_sites() if site.line is not None
        }
        self._remarks: Mapping[int, str] = {
            remark.span.line: remark.message for remark in remarks if remark.span is not None
        }

    def of(self, line: int | None, axes: AxisList, argument: int | None = None) -> Iterator[str]:
        """Yield the causes of a collective along `axes` that belongs to the op on `line`, one or more lines each.

        These are the conflicts at the op, then what the optimizer did to it, then the origin of each axis: the chain of
        ops through which it came to an operand or a result from an annotation. If the collective reshards an argument
        of the function on that line, `argument` is its number.
        """
        if line is None:
            return
        found = [
            *self._conflicts(line),
            *(text for axis in axes for text in self._origin(self._values_on(line, argument), axis)),
        ]
        if not found and axes:
            listed = ", ".join(map(str, axes))
            found = [f"propagation shards no tensor of this op along {listed}; the communication optimizer does"]
        yield from found

    def _conflicts(self, line: int) -> Iterator[str]:
        if line in self._sites:
            yield from self._sites[line].sentences
        if line in self._remarks:
            yield f"the communication optimizer changed it: {self._remarks[line]}"

    def _origin(self, values: Sequence[SSAValue], axis: AxisRef) -> Iterator[str]:
        """Yield the chain of ops that propagated an axis to the first of some values that has it."""
        for value in values:
            origin = next((each for each in self._explainer.origins(value) if overlaps(each.axis, axis)), None)
            if origin is not None:
                yield f"dim {origin.dim} of {self._explainer.names[value]} is sharded along {origin.axis}:"
                yield from (f"  {where}  {text}" for where, text in origin.steps)
                return

    def _values_on(self, line: int, argument: int | None) -> Sequence[SSAValue]:
        """Return the operands, then the results, of the ops on a line; of a function, one argument or all of them."""
        found = self._explainer.names.defined_on(line)
        if argument is not None and argument < len(found) and isinstance(found[argument], BlockArgument):
            return found[argument : argument + 1]
        owners = dict.fromkeys(value.owner for value in found if isinstance(value.owner, Operation))
        return [*dict.fromkeys(operand for op in owners for operand in op.operands), *found]
