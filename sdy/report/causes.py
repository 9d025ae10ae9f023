"""The causes of collectives: conflicts of propagation, rewrites of the optimizer, and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

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

    def of(self, line: int | None, axes: AxisList) -> Iterator[str]:
        """Yield the causes of a collective along `axes` that belongs to the op on `line`, one or more lines each.

        These are the conflicts at the op, then what the optimizer did to it, then the origin of each axis: the chain of
        ops through which it came to an operand or a result from an annotation.
        """
        if line is None:
            return
        found = [*self._conflicts(line), *(text for axis in axes for text in self._origin(line, axis))]
        if not found and axes:
            listed = ", ".join(map(str, axes))
            found = [f"propagation shards no tensor of this op along {listed}: the communication optimizer chose to"]
        yield from found

    def _conflicts(self, line: int) -> Iterator[str]:
        if line in self._sites:
            yield from self._sites[line].sentences
        if line in self._remarks:
            yield f"the communication optimizer changed it: {self._remarks[line]}"

    def _origin(self, line: int, axis: AxisRef) -> Iterator[str]:
        """Yield the chain of ops that propagated an axis to the first tensor of the line that has it."""
        for value in self._values_on(line):
            origin = next((each for each in self._explainer.origins(value) if overlaps(each.axis, axis)), None)
            if origin is not None:
                yield f"dim {origin.dim} of {self._explainer.names[value]} is sharded along {origin.axis}:"
                yield from (f"  {where}  {text}" for where, text in origin.steps)
                return

    def _values_on(self, line: int) -> list[SSAValue]:
        """Return the operands, then the results, of the ops on a line; the arguments of a function on its line."""
        found = self._explainer.names.defined_on(line)
        owners = dict.fromkeys(value.owner for value in found if isinstance(value.owner, Operation))
        return [*dict.fromkeys(operand for op in owners for operand in op.operands), *found]
