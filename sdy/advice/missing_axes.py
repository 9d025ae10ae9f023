"""Finds where an axis that a dim of a value does not have comes closest to it, and what stops it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.sharded_types import static_shape
from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.propagation.conflicts import Conflict, conflict_at
from sdy.propagation.graph import Value
from sdy.propagation.tied_dims import Tie, TiedDim, TiedDims, is_stopped_by_barrier
from sdy.report.explanation.conflict_text import conflict_lines
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.trace_descriptions import dims_text


@dataclass(frozen=True, slots=True)
class Question:
    """Why is this dim of a value not sharded along this axis?

    `result` is the number of a result of the main function, if the value was asked for by its name.
    """

    written: SSAValue
    dim: int
    axis: AxisRef
    mesh: Mesh
    mesh_name: str
    rank: int
    result: int | None = None


class MissingAxes:
    """Finds why axes are missing in the shardings of one propagated program."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer
        self._graph = explainer.traced.flat.graph
        self._tied = TiedDims(self._graph)

    def question(self, written: SSAValue, dim: int, axis: str, result: int | None = None) -> Question:
        """Return the question about a dim, counted from the end if it is negative, and the axis with this name.

        Raises: SdyError SDY-T220 if one is unknown.
        """
        name = self._explainer.names[written]
        rank = max((holder.rank for holder in self._explainer.values.holders(written) if holder is not None), default=0)
        if not -rank <= dim < rank:
            raise SdyError(Diagnostic("SDY-T220", f"{name} has no dim {dim}: its rank is {rank}"))
        for mesh_name, mesh in self._graph.meshes.items():
            if any(each.name == axis for each in mesh.axes):
                return Question(written, dim % rank, AxisRef(axis), mesh, mesh_name, rank, result)
        known = [each.name for mesh in self._graph.meshes.values() for each in mesh.axes]
        hint = similar_name_hint(axis, known) or f"axes: {', '.join(dict.fromkeys(known))}"
        raise SdyError(Diagnostic("SDY-T220", f'no mesh has an axis "{axis}"', hint=hint))

    def unsharded_holder(self, question: Question) -> Value | None:
        """Return the holder of the first copy of the value that is not sharded so; None if all copies are."""
        holders = [each for each in self._explainer.values.holders(question.written) if each is not None]
        return next((each for each in holders if not self._has(TiedDim(each, question.dim), question.axis)), None)

    def stop(self, question: Question, holder: Value) -> Tie | None:
        """Return the step from the nearest dim that is sharded along the axis; None if no tied dim is.

        The step leads towards the dim of the question, and something keeps the axis from taking it.
        """
        ties = self._tied.search(TiedDim(holder, question.dim))
        return next((tie.reversed() for tie in ties if self._has(tie.end, question.axis)), None)

    def axis_at(self, dim: TiedDim, axis: AxisRef) -> AxisRef:
        """Return the axis ref of a dim that overlaps `axis`, which the dim must have."""
        sharding = self._graph.sharding(dim.holder)
        assert sharding is not None
        return next(own for own in sharding.dims[dim.dim].axes if overlaps(own, axis))

    def conflict(self, stop: Tie, axis: AxisRef) -> Conflict | None:
        """Return what keeps an axis from moving along a tie; None if it is not a conflict of the op."""
        if stop.site is None or is_stopped_by_barrier(stop):
            return None
        return conflict_at(self._graph, self._explainer.traced.history, stop, axis)

    def reasons(self, question: Question, holder: Value, stop: Tie | None) -> Iterator[str]:
        """Yield the lines that say what keeps the axis from the dim of a holder; `stop` is that of the question."""
        sharding = self._graph.sharding(holder)
        found = "without a sharding" if sharding is None else f"sharded {dims_text(sharding)}"
        yield f"  dim {question.dim} is not sharded along {question.axis}: {found}"
        if sharding is not None and sharding.rank > question.dim:
            yield from self._own_reasons(question, holder, sharding)
        if stop is None:
            count = sum(1 for _ in self._tied.search(TiedDim(holder, question.dim)))
            yield f"  nothing propagates it there: none of the {count} dims tied to this dim by ops is sharded along it"
        else:
            yield from self._stop_lines(question, stop)

    def _own_reasons(self, question: Question, holder: Value, sharding: TensorSharding) -> Iterator[str]:
        own = sharding.dims[question.dim]
        for index, dim in enumerate(sharding.dims):
            used = next((axis for axis in dim.axes if overlaps(axis, question.axis)), None)
            if used is not None:
                yield f"  dim {index} is sharded along it, and a tensor is sharded along an axis only once:"
                yield from (f"    {where}  {text}" for where, text in self._explainer.steps(holder, used))
        if any(overlaps(axis, question.axis) for axis in (*sharding.replicated, *sharding.unreduced)):
            yield f"  the value is explicitly replicated or unreduced along {question.axis}"
        if own.is_closed:
            line, root = self._explainer.descriptions.root(holder)
            yield f"  dim {question.dim} is closed: {line}, {root}"
        shape = static_shape(question.written.type)
        count = sharded_size((*own.axes, question.axis), question.mesh)
        if shape is not None and shape[question.dim] % count:
            yield f"  its {shape[question.dim]} elements cannot be divided into {count} shards"

    def _stop_lines(self, question: Question, stop: Tie) -> Iterator[str]:
        source, descriptions = stop.start, self._explainer.descriptions
        axis = self.axis_at(source, question.axis)
        yield f"  the nearest dim that it could come from: dim {source.dim} of {descriptions.value(source.holder)}"
        yield from (f"    {where}  {text}" for where, text in self._explainer.steps(source.holder, axis))
        if stop.site is None:
            yield "  it stops between two members of a sharding group"
            return
        yield f"  it stops at {descriptions.line(stop.site)}, {descriptions.site(stop.site)}:"
        if is_stopped_by_barrier(stop):
            yield "    a propagation barrier does not let axes pass in this direction"
            return
        conflict = self.conflict(stop, axis)
        if conflict is not None:
            yield from (
                f"    {line}" for line in conflict_lines(conflict, descriptions, self._explainer.traced.history)
            )

    def _has(self, dim: TiedDim, axis: AxisRef) -> bool:
        sharding = self._graph.sharding(dim.holder)
        if sharding is None or dim.dim >= sharding.rank:  # a tensor on a single device has no dims
            return False
        return any(overlaps(own, axis) for own in sharding.dims[dim.dim].axes)
