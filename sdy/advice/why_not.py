"""Explains why a dim is *not* sharded along an axis, and finds a small edit with which propagation shards it.

%2 (stablehlo.add, line 6)
  dim 1 is not sharded along "y": sharded [{"x", ?}, {?}]
  the nearest dim that it could come from: dim 1 of %w
    line 3  %w: annotated [{}, {"y"}]
    line 5  %1 = stablehlo.dot_general: from operand 1 (%w) to the result (%1)
  it stops at line 6, %2 = stablehlo.add: dim 1 of the result (%2) is closed
  edit: open dim 1 of %2, and it is sharded along "y"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import BlockArgument, SSAValue

from sdy.advice.edits import Edit, is_at_boundary, sharding_text, with_axis, with_priority, without_axis
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.ir.func_attrs import result_number, shown_result_name
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import function_result_sharding, sharding_of
from sdy.dialects.verification.verify_module import verify_module
from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, fully_open, with_closed
from sdy.propagation.conflicts import Conflict, Obstacle, Tie, TiedDim, TiedDims, conflict_at, is_stopped_by_barrier
from sdy.propagation.graph import Value
from sdy.report.explanation.explainer import Explainer, conflict_lines
from sdy.report.explanation.trace_descriptions import dims_text


class Reasons(NamedTuple):
    """Why a dim is not sharded, in lines of text, and the smallest edit found that shards it, if there is one."""

    lines: list[str]
    suggestion: Suggestion | None


class WhyNot:
    """Answers questions about the program that `explainer` explains."""

    def __init__(self, explainer: Explainer) -> None:
        self._module = explainer.written
        self._explainer = explainer
        self._missing = MissingAxes(explainer)

    def answer(self, query: str, dim: int, axis: str) -> Reasons:
        """Return the answer for the first value that `query` refers to.

        Raises: SdyError SDY-T203 if no value has that name, SDY-T220 if the value has no dim with that number or no
        mesh has an axis with that name.
        """
        written = self._explainer.names.find(query)[0]
        return self.reasons(written, dim, axis, result_number(main_function(self._module), query))

    def reasons(self, written: SSAValue, dim: int, axis: str, result: int | None = None) -> Reasons:
        """Return the answer for a value of the program, which may be that of a result. Raises: SdyError as `answer`."""
        question = self._missing.question(written, dim, axis, result)
        lines = [self._explainer.headline(written)]
        holder = self._missing.unsharded_holder(question)
        if holder is None:
            explained = list(self._explainer.explanation(written).lines())
            return Reasons([lines[0], f"  dim {question.dim} is sharded along {question.axis}", *explained[1:]], None)
        stop = self._missing.stop(question, holder)
        lines += self._missing.reasons(question, holder, stop)
        suggestion = self._first_that_works(question, holder, stop)
        if suggestion is None:
            lines.append("  no edit of a single annotation shards it")
        else:
            lines.append(f"  edit: {suggestion.text}, and propagation shards it along {question.axis}")
            lines += _uneven_at_boundary(question, suggestion.edit)
        return Reasons(lines, suggestion)

    def _first_that_works(self, question: Question, holder: Value, stop: Tie | None) -> Suggestion | None:
        tried = (each for each in self._suggestions(question, holder, stop) if self._works(question, each.edit))
        return next(tried, None)

    def _suggestions(self, question: Question, holder: Value, stop: Tie | None) -> Iterator[Suggestion]:
        """Yield edits to try: first those that keep all annotations but for openness or priority."""
        for each in dict.fromkeys([holder, *(() if stop is None else (stop.end.holder,))]):
            dim = question.dim if each is holder or stop is None else stop.end.dim
            yield from opening(self._explainer, each, dim)
        if stop is not None:
            conflict = self._missing.conflict(stop, self._missing.axis_at(stop.start, question.axis))
            if conflict is not None:
                yield from against_rival(self._explainer, conflict, stop.end.holder)
        yield from self._annotated(question)

    def _annotated(self, question: Question) -> Iterator[Suggestion]:
        """Yield the edit that shards the value of the question itself; of a result, also that of the function."""
        written = question.written
        if question.result is not None:
            yield self._annotated_result(question, question.result)
        own = sharding_of(written)
        if own is None or own.mesh != question.mesh_name:
            unannotated = fully_closed if isinstance(written, BlockArgument) else fully_open
            own = unannotated(question.mesh_name, question.rank)
        edit = Edit(written, with_axis(own, question.dim, question.axis))
        line = self._explainer.python_line(written)
        yield Suggestion(edit.described(self._explainer.names[written], line), edit)

    def _annotated_result(self, question: Question, number: int) -> Suggestion:
        func = main_function(self._module)
        own = function_result_sharding(func, number)
        if own is None or own.mesh != question.mesh_name:
            own = fully_closed(question.mesh_name, question.rank)  # JAX has open dims only in constraints
        edit = Edit(number, with_axis(own, question.dim, question.axis))
        text = f"{edit.described(shown_result_name(func, number))} in the out_shardings of jax.jit"
        return Suggestion(text, edit)

    def _works(self, question: Question, edit: Edit) -> bool:
        """Return whether propagation in an edited copy shards the dim along the axis, in every copy of the value."""
        try:
            module, copies = edit.applied(self._module)
            verify_module(module)
            explainer = self._explainer.of(module)
        except SdyError:
            return False  # the edit is not valid, for example because an axis would be used twice
        graph = explainer.traced.flat.graph
        holders = [each for each in explainer.values.holders(copies[question.written]) if each is not None]
        shardings = [graph.sharding(each) for each in holders]
        return bool(shardings) and all(
            each is not None and any(overlaps(axis, question.axis) for axis in each.dims[question.dim].axes)
            for each in shardings
        )


def _uneven_at_boundary(question: Question, edit: Edit) -> Iterator[str]:
    """Yield what JAX, which needs even shards of arguments and results, accepts instead of an edit that it rejects."""
    shape = static_shape(question.written.type)
    if shape is None or not is_at_boundary(edit) or edit.target not in (question.written, question.result):
        return
    for dim, (size, sharding) in enumerate(zip(shape, edit.sharding.dims, strict=True)):
        shards = sharded_size(sharding.axes, question.mesh)
        if size % shards:
            even = -(-size // shards) * shards
            yield (
                f"  JAX rejects uneven shards of arguments and results: pad dim {dim} to {even:,} elements, or use "
                "jax.lax.with_sharding_constraint on a value inside"
            )


@dataclass(frozen=True)
class Suggestion:
    """An edit of one annotation, in words and as a value."""

    text: str
    edit: Edit


def opening(explainer: Explainer, holder: Value, dim: int) -> Iterator[Suggestion]:
    """Yield the edit that opens a closed dim that the user annotated."""
    found = explainer.values.annotation(holder)
    if found is not None and found[1].dims[dim].is_closed:
        target, sharding = found
        opened = with_closed(sharding, [dim], is_closed=False)
        text = f"open dim {dim} of {_described(explainer, target)}, {sharding_text(opened)}"
        yield Suggestion(text, Edit(target, opened))


def against_rival(explainer: Explainer, conflict: Conflict, holder: Value) -> Iterator[Suggestion]:
    """Yield edits of the annotation that the rival axis of a holder comes from: a later priority, or one axis less."""
    if conflict.rival_axis is None or conflict.obstacle not in (Obstacle.OTHER_DIM, Obstacle.OTHER_AXIS):
        return
    root = explainer.traced.history.path(holder, conflict.rival_axis).root
    found = explainer.values.annotation(root)
    if found is None:
        return
    target, sharding = found
    name = _described(explainer, target)
    for dim, own in enumerate(sharding.dims):
        if any(overlaps(axis, conflict.rival_axis) for axis in own.axes):
            later = with_priority(sharding, dim, own.effective_priority + 1)
            yield Suggestion(f"give dim {dim} of {name} a later priority, {sharding_text(later)}", Edit(target, later))
            removed = without_axis(sharding, conflict.rival_axis)
            text = f"take {conflict.rival_axis} off {name}, {sharding_text(removed)}"
            yield Suggestion(text, Edit(target, removed))


def _described(explainer: Explainer, target: SSAValue | int) -> str:
    return f"result {target}" if isinstance(target, int) else explainer.names[target]


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
